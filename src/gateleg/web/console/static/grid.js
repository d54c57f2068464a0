// The units of durations and sizes.
const UNITS = { ms: 0.001, s: 1, min: 60, h: 3600, day: 86400, days: 86400, byte: 1, bytes: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const UNIT = Object.keys(UNITS).join("|");
const QUANTITY = new RegExp(`^(-?\\d+(?:\\.\\d+)?)(?: (${UNIT})(?: (\\d+) (${UNIT}))?)?(?![^ ,%])`);

// The quantity that a text starts with, such as -1.5, 340 ms, 3 min 5 s or 3.4 kB; null for other texts.
function quantity(text) {
  const found = QUANTITY.exec(text);
  return found && Number(found[1]) * (UNITS[found[2]] ?? 1) + Number(found[3] ?? 0) * (UNITS[found[4]] ?? 0);
}

function compare(one, other) {
  const [left, right] = [quantity(one), quantity(other)];
  const difference = left === null || right === null ? 0 : left - right;
  return difference || one.localeCompare(other, undefined, { numeric: true });
}

// A table whose rows change in place. Cells are texts, or values with a kind `t` that says how to draw them.
export default {
  template: `
    <div class="fill"><div v-if="filterable && rows.length > 8" class="grid-filter"><input type="search" class="box" placeholder="Filter" :aria-label="'Filter ' + label" v-model="filter" /><span v-if="filter" class="meta num" role="status">{{ shown.length }} of {{ rows.length }}</span></div>
    <div class="grid-box" tabindex="-1">
      <table class="grid">
        <caption class="sr">{{ label }}</caption>
        <thead>
          <tr>
            <th v-if="selectable" class="pick" scope="col">
              <input type="checkbox" aria-label="Select all rows" :checked="all" @change="toggleAll" />
            </th>
            <th v-for="column in columns" :key="column.key" scope="col" :class="{ right: column.right, deeds: column.key === 'deeds' }" :style="width(column)" :aria-sort="sort.key === column.key ? (sort.down ? 'descending' : 'ascending') : undefined"><button v-if="complete && column.label" type="button" class="sorter" @click="sortBy(column.key)">{{ column.label }}<i aria-hidden="true">{{ sort.key === column.key ? (sort.down ? '\u25BE' : '\u25B4') : '' }}</i></button><template v-else>{{ column.label }}</template></th>
          </tr>
        </thead>
        <tbody>
          <tr v-for="row in shown" :key="row.id" data-row :data-id="row.id" :class="{ open: row.href, chosen: chosen.has(row.id) }" @click="open($event, row)">
            <td v-if="selectable" class="pick">
              <input type="checkbox" :aria-label="'Select ' + (row.label || row.id)" :checked="chosen.has(row.id)" @change="toggle(row.id)" @click.stop />
            </td>
            <td v-for="(column, index) in columns" :key="column.key" :data-label="column.label"
                :class="{ right: column.right, lead: index === 0, desk: column.desk, wraps: column.wraps, deeds: column.key === 'deeds', none: blank(row.cells[column.key]), state: row.cells[column.key]?.t === 'chip', changed: changed.has(row.id + ' ' + column.key) }">
              <span class="cell"><template v-for="(part, at) in parts(row.cells[column.key])" :key="at">
                <template v-if="typeof part === 'string'"><a v-if="index === 0 && row.href && at === 0" class="name" :href="row.href" :title="part.length > 40 ? part : null">{{ part }}</a><span v-else class="clip">{{ part }}</span></template>
                <component :is="part.href ? 'a' : 'span'" v-else-if="part.t === 'chip'" :href="part.href" :class="'chip k-' + part.kind"><i class="q-icon material-icons glyph" aria-hidden="true">{{ part.icon }}</i><span>{{ part.word }}</span></component>
                <time v-else-if="part.t === 'ago'" data-ago :datetime="part.at" :title="exact(part.at)">{{ ago(part.at) }}</time>
                <time v-else-if="part.t === 'since'" data-since :datetime="part.at" :title="exact(part.at)">{{ since(part.at) }}</time>
                <button v-else-if="part.t === 'id'" type="button" class="id" :data-copy="part.full" :title="part.full + ' (copy)'" :aria-label="'Copy ' + part.full">{{ part.short }}</button>
                <a v-else-if="part.t === 'link'" :class="part.name ? 'name' : 'link'" :href="part.href">{{ part.text }}</a>
                <span v-else-if="part.t === 'mono'" class="mono clip" :title="part.text">{{ part.text }}</span>
                <span v-else-if="part.t === 'meta'" class="meta clip" :title="part.text">{{ part.text }}</span>
                <span v-else-if="part.t === 'tag'" class="plain-chip">{{ part.text }}</span>
                <template v-else-if="part.t === 'bar'"><span :class="'bar k-' + part.kind" role="progressbar" :aria-valuenow="Math.round(part.part * 100)" aria-valuemin="0" aria-valuemax="100" :aria-label="part.text || 'progress'" style="max-width: 96px"><span :style="{ width: part.part * 100 + '%' }"></span></span><span class="num meta">{{ Math.round(part.part * 100) }}%</span></template>
                <button v-else-if="part.t === 'deed'" type="button" :class="'deed small ' + (part.look || '')" :disabled="part.off" @click.stop="$emit('deed', { row: row.id, verb: part.verb })">{{ part.text }}</button>
              </template></span>
            </td>
          </tr>
        </tbody>
      </table>
    </div></div>`,
  props: { label: String, columns: Array, rows: Array, selectable: Boolean, complete: Boolean, filterable: Boolean },
  emits: ["deed", "choose"],
  data: () => ({ chosen: new Set(), changed: new Set(), before: null, filter: "", sort: { key: null, down: false } }),
  computed: {
    all() {
      return this.shown.length > 0 && this.shown.every((row) => this.chosen.has(row.id));
    },
    // The rows as they are filtered and sorted here, which is for lists that are complete.
    shown() {
      const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
      const text = (row) => Object.values(row.cells).map(this.text).join(" ").toLowerCase();
      const kept = words.length ? this.rows.filter((row) => words.every((word) => text(row).includes(word))) : this.rows;
      const { key, down } = this.sort;
      if (key === null) return kept;
      const sorted = [...kept].sort((one, other) => compare(this.text(one.cells[key]), this.text(other.cells[key])));
      return down ? sorted.reverse() : sorted;
    },
  },
  watch: {
    rows(rows) {
      const known = new Set(rows.map((row) => row.id));
      const kept = [...this.chosen].filter((id) => known.has(id));
      if (kept.length !== this.chosen.size) this.choose(kept);
      this.mark(rows);
    },
  },
  mounted() {
    this.before = this.remember(this.rows);
  },
  methods: {
    ago: (at) => window.gateleg.ago(at),
    since: (at) => window.gateleg.since(at),
    exact: (at) => window.gateleg.exact(at),
    width: (column) => (column.width ? { width: column.width } : {}),
    blank: (cell) => cell === null || cell === undefined || cell === "" || (Array.isArray(cell) && !cell.length),
    parts: (cell) => (cell === null || cell === undefined ? [] : Array.isArray(cell) ? cell : [cell]),
    // What a cell is filtered and sorted by: times by the moment, progress by its part.
    text(cell) {
      return this.parts(cell).map((part) => (typeof part === "string" ? part.replace(/(\d),(?=\d{3})/g, "$1") : String(part.at ?? part.part ?? part.full ?? part.word ?? part.text ?? ""))).join(" ");
    },
    // First one way, then the other, then as the rows came.
    sortBy(key) {
      if (this.sort.key !== key) this.sort = { key, down: false };
      else this.sort = this.sort.down ? { key: null, down: false } : { key, down: true };
    },
    remember(rows) {
      return new Map(rows.map((row) => [row.id, Object.fromEntries(Object.entries(row.cells).map(([key, cell]) => [key, JSON.stringify(cell)]))]));
    },
    mark(rows) {
      const now = this.remember(rows);
      const changed = new Set();
      for (const [id, cells] of now) {
        const old = this.before?.get(id);
        for (const [key, text] of Object.entries(cells)) if (old && old[key] !== text) changed.add(id + " " + key);
      }
      this.before = now;
      this.changed = changed;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => (this.changed = new Set()), 1500);
    },
    choose(ids) {
      this.chosen = new Set(ids);
      this.$emit("choose", ids);
    },
    toggle(id) {
      const next = new Set(this.chosen);
      next.has(id) ? next.delete(id) : next.add(id);
      this.choose([...next]);
    },
    toggleAll() {
      this.choose(this.all ? [] : this.shown.map((row) => row.id));
    },
    open(event, row) {
      if (!row.href || event.target.closest("a, button, input") || String(getSelection())) return;
      if (event.metaKey || event.ctrlKey) window.open(row.href);
      else location.href = row.href;
    },
    clear() {
      this.choose([]);
    },
  },
};
