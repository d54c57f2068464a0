// Lines of a log, which grows at its end. While its end is seen it follows; scrolling up lets go.
export default {
  template: `
    <div class="log" role="log" aria-live="off" tabindex="0" aria-label="Log" ref="box" @scroll="scrolled">
      <p v-if="!lines.length" class="meta">{{ empty }}</p>
      <div v-for="line in lines" :key="line.number" class="log-line" :class="line.level"><span class="log-number">{{ line.number }}</span><time class="log-time" :title="exact(line.at)">{{ clock(line.at) }}</time><span class="log-level">{{ line.level }}</span><span class="log-text">{{ line.text }}</span></div>
    </div>`,
  props: { initial: Array, empty: String, most: Number },
  data() {
    return { lines: this.initial, following: true };
  },
  mounted() {
    this.toEnd();
  },
  methods: {
    exact: (at) => window.gateleg.exact(at),
    clock: (at) => new Date(at).toLocaleTimeString(undefined, { hour12: false }) + "." + at.slice(20, 23),
    push(lines) {
      const last = this.lines.length ? this.lines[this.lines.length - 1].number : 0;
      this.lines = [...this.lines, ...lines.filter((line) => line.number > last)].slice(-this.most);
      if (this.following) this.toEnd();
    },
    toEnd() {
      this.$nextTick(() => {
        const box = this.$refs.box;
        if (box) box.scrollTop = box.scrollHeight;
      });
    },
    scrolled() {
      const box = this.$refs.box;
      this.following = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    },
  },
};
