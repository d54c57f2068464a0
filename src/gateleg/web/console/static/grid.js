// A table whose rows change in place. Cells are texts, or values with a kind `t` that says how to draw them.
export default {
  template: `
    <div class="grid-box" tabindex="-1">
      <table class="grid">
        <caption class="sr">{{ label }}</caption>
        <thead>
          <tr>
            <th v-if="selectable" class="pick" scope="col">
              <input type="checkbox" aria-label="Select all rows" :checked="all" @change="toggleAll" />
            </th>
            <th v-for="column in columns" :key="column.key" scope="col" :class="{ right: column.right }" :style="width(column)">{{ column.label }}</th>
          </tr>
        </thead>
        <tbody>
          <tr v-for="row in rows" :key="row.id" data-row :data-id="row.id" :class="{ open: row.href, chosen: chosen.has(row.id) }" @click="open($event, row)">
            <td v-if="selectable" class="pick">
              <input type="checkbox" :aria-label="'Select ' + row.id" :checked="chosen.has(row.id)" @change="toggle(row.id)" @click.stop />
            </td>
            <td v-for="(column, index) in columns" :key="column.key" :data-label="column.label"
                :class="{ right: column.right, lead: index === 0, desk: column.desk, wraps: column.wraps, none: blank(row.cells[column.key]), state: row.cells[column.key]?.t === 'chip', changed: changed.has(row.id + ' ' + column.key) }">
              <span class="cell"><template v-for="(part, at) in parts(row.cells[column.key])" :key="at">
                <template v-if="typeof part === 'string'"><a v-if="index === 0 && row.href && at === 0" class="name" :href="row.href">{{ part }}</a><span v-else class="clip">{{ part }}</span></template>
                <span v-else-if="part.t === 'chip'" :class="'chip k-' + part.kind"><i class="q-icon material-icons glyph" aria-hidden="true">{{ part.icon }}</i><span>{{ part.word }}</span></span>
                <time v-else-if="part.t === 'ago'" data-ago :datetime="part.at" :title="exact(part.at)">{{ ago(part.at) }}</time>
                <time v-else-if="part.t === 'since'" data-since :datetime="part.at" :title="exact(part.at)">{{ since(part.at) }}</time>
                <button v-else-if="part.t === 'id'" type="button" class="id" :data-copy="part.full" :title="part.full + ' (copy)'" :aria-label="'Copy ' + part.full">{{ part.short }}</button>
                <a v-else-if="part.t === 'link'" :class="part.name ? 'name' : 'link'" :href="part.href">{{ part.text }}</a>
                <span v-else-if="part.t === 'mono'" class="mono clip" :title="part.text">{{ part.text }}</span>
                <span v-else-if="part.t === 'meta'" class="meta clip" :title="part.text">{{ part.text }}</span>
                <span v-else-if="part.t === 'tag'" class="plain-chip">{{ part.text }}</span>
                <template v-else-if="part.t === 'bar'"><span :class="'bar k-' + part.kind" role="progressbar" :aria-valuenow="Math.round(part.part * 100)" aria-valuemin="0" aria-valuemax="100" :aria-label="part.text || 'progress'" style="max-width: 96px"><span :style="{ width: part.part * 100 + '%' }"></span></span><span class="num meta">{{ Math.round(part.part * 100) }} %</span></template>
                <button v-else-if="part.t === 'deed'" type="button" :class="'deed small ' + (part.look || '')" :disabled="part.off" @click.stop="$emit('deed', { row: row.id, verb: part.verb })">{{ part.text }}</button>
              </template></span>
            </td>
          </tr>
        </tbody>
      </table>
    </div>`,
  props: { label: String, columns: Array, rows: Array, selectable: Boolean },
  emits: ["deed", "choose"],
  data: () => ({ chosen: new Set(), changed: new Set(), before: null }),
  computed: {
    all() {
      return this.rows.length > 0 && this.rows.every((row) => this.chosen.has(row.id));
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
      this.choose(this.all ? [] : this.rows.map((row) => row.id));
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
