// Lines and bars over time, drawn as SVG in the colours of the theme; the pointer or the arrow keys read single moments.
export default {
  template: `
    <figure class="chart" ref="box" @pointermove="point" @pointerleave="at = null">
      <figcaption class="chart-keys"><span v-for="one in series" :key="one.name" class="chart-key"><i :style="{ background: 'var(--' + one.tone + ')' }" :class="'swatch-' + one.kind"></i>{{ one.name }}</span></figcaption>
      <svg :viewBox="'0 0 ' + width + ' ' + height" :height="height" width="100%" role="img" :aria-label="label + '. ' + description" tabindex="0" @keydown.left.prevent="step(-1)" @keydown.right.prevent="step(1)" @blur="at = null">
        <g v-for="tick in ticks" :key="tick"><line class="grid-line" :x1="left" :x2="width" :y1="y(tick)" :y2="y(tick)" /><text class="axis" :x="left - 8" :y="y(tick) + 4" text-anchor="end">{{ said(tick) }}</text></g>
        <text v-for="mark in marks" :key="mark.x" class="axis" :x="mark.x" :y="height - 4" text-anchor="middle">{{ mark.text }}</text>
        <template v-for="(one, index) in series" :key="one.name">
          <template v-if="one.kind === 'bar'"><rect v-for="bar in bars(index)" :key="bar.at" :x="bar.x" :y="bar.y" :width="bar.w" :height="bar.h" rx="1.5" :fill="'var(--' + one.tone + ')'" :opacity="at === null || at === bar.at ? 1 : 0.5" /></template>
          <template v-else><path class="area" v-if="one.kind === 'area'" :d="area(one.values)" :fill="'var(--' + one.tone + ')'" /><path class="stroke" :d="line(one.values)" :stroke="'var(--' + one.tone + ')'" :stroke-dasharray="one.dashed ? '4 4' : undefined" /><circle v-for="lone in alone(one.values)" :key="lone" :cx="x(lone)" :cy="y(one.values[lone])" r="2" :fill="'var(--' + one.tone + ')'" /></template>
        </template>
        <line v-if="at !== null" class="cross" :x1="x(at)" :x2="x(at)" :y1="top" :y2="height - bottom" />
      </svg>
      <div v-if="at !== null" class="chart-tip" :style="tip"><div class="meta">{{ moment(times[at]) }}</div><div v-for="one in series" :key="one.name" class="chart-row"><i :style="{ background: 'var(--' + one.tone + ')' }" :class="'swatch-' + one.kind"></i><span>{{ one.name }}</span><b>{{ one.values[at] === null ? "–" : said(one.values[at]) }}</b></div></div>
    </figure>`,
  props: { label: String, times: Array, series: Array, unit: String, height: { type: Number, default: 180 } },
  data: () => ({ width: 600, at: null, left: 56, top: 8, bottom: 22 }),
  computed: {
    stacked() {
      return this.series.every((one) => one.kind === "bar");
    },
    most() {
      const sums = this.times.map((_, at) => this.series.reduce((sum, one) => (this.stacked ? sum + (one.values[at] || 0) : Math.max(sum, one.values[at] || 0)), 0));
      return Math.max(...sums, this.unit === "seconds" ? 0.001 : 1);
    },
    ticks() {
      const rough = this.most / 3;
      const size = 10 ** Math.floor(Math.log10(rough));
      let step = [1, 2, 5, 10].find((one) => one * size >= rough) * size;
      if (this.unit === "count") step = Math.max(1, Math.round(step));
      else if (rough > 10) step = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18000, 36000, 86400].find((one) => one >= rough) ?? step;
      const found = [];
      for (let tick = 0; tick < this.most + step; tick += step) found.push(Math.round(tick * 1e6) / 1e6);
      return found;
    },
    marks() {
      const count = Math.max(2, Math.floor((this.width - this.left) / 90));
      const every = Math.ceil(this.times.length / count);
      return this.times.map((time, at) => ({ at, x: this.x(at), text: this.clock(time) })).filter((one) => one.at % every === 0 && one.x > this.left + 14 && one.x < this.width - 14);
    },
    description() {
      return this.series.map((one) => { const last = [...one.values].reverse().find((value) => value !== null); return one.name + ": " + (last === undefined ? "nothing yet" : this.said(last)) }).join(", ");
    },
    tip() {
      const x = this.x(this.at);
      return x > this.width / 2 ? { right: this.width - x + 12 + "px" } : { left: x + 12 + "px" };
    },
  },
  mounted() {
    this.watcher = new ResizeObserver(() => { if (this.$refs.box) this.width = Math.max(200, this.$refs.box.clientWidth); });
    this.watcher.observe(this.$refs.box);
  },
  beforeUnmount() {
    this.watcher.disconnect();
  },
  methods: {
    x(at) {
      const part = this.stacked ? (at + 0.5) / this.times.length : at / Math.max(1, this.times.length - 1);
      return this.left + part * (this.width - this.left - (this.stacked ? 0 : 6));
    },
    y(value) {
      const ceiling = this.ticks[this.ticks.length - 1];
      return this.top + (1 - value / ceiling) * (this.height - this.top - this.bottom);
    },
    bars(index) {
      const slot = (this.width - this.left) / this.times.length;
      const w = Math.max(1, Math.min(24, slot * 0.7));
      return this.series[index].values.map((value, at) => {
        const below = this.series.slice(0, index).reduce((sum, one) => sum + (one.values[at] || 0), 0);
        const upper = this.y(below + (value || 0));
        return { at, x: this.x(at) - w / 2, y: upper, w, h: Math.max(0, this.y(below) - upper) };
      }).filter((bar) => bar.h > 0);
    },
    line(values) {
      let path = "", pen = false;
      values.forEach((value, at) => {
        if (value === null) return (pen = false);
        path += (pen ? "L" : "M") + this.x(at).toFixed(1) + " " + this.y(value).toFixed(1);
        pen = true;
      });
      return path || "M0 0";
    },
    alone(values) {
      return values.map((_, at) => at).filter((at) => values[at] !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null);
    },
    area(values) {
      const floor = this.y(0).toFixed(1);
      let path = "", first = null, last = null;
      values.forEach((value, at) => {
        if (value === null) {
          if (first !== null) path += "L" + this.x(last).toFixed(1) + " " + floor + "Z";
          return (first = null);
        }
        if (first === null) path += "M" + this.x((first = at)).toFixed(1) + " " + floor;
        path += "L" + this.x(at).toFixed(1) + " " + this.y(value).toFixed(1);
        last = at;
      });
      return path + (first !== null ? "L" + this.x(last).toFixed(1) + " " + floor + "Z" : "");
    },
    said(value) {
      if (this.unit === "count") return value >= 10000 ? (value / 1000).toFixed(1) + " k" : String(Math.round(value * 10) / 10);
      if (value === 0) return "0";
      return value < 1 ? Math.round(value * 1000) + " ms" : value < 60 ? Math.round(value * 10) / 10 + " s" : value < 3600 ? Math.round(value / 6) / 10 + " min" : Math.round(value / 360) / 10 + " h";
    },
    clock: (time) => new Date(time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false }),
    moment: (time) => new Date(time).toLocaleString(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit", hour12: false }),
    point(event) {
      const box = this.$refs.box.getBoundingClientRect();
      const x = event.clientX - box.left;
      if (x < this.left - 10) return (this.at = null);
      const part = (x - this.left) / (this.width - this.left);
      this.at = Math.max(0, Math.min(this.times.length - 1, this.stacked ? Math.floor(part * this.times.length) : Math.round(part * (this.times.length - 1))));
    },
    step(by) {
      this.at = Math.max(0, Math.min(this.times.length - 1, (this.at === null ? this.times.length - 1 : this.at + by)));
    },
  },
};
