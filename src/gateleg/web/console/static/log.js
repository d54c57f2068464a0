// Lines of a log, which grows at its end. While its end is seen it follows; scrolling up lets go.
export default {
  template: `
    <div class="log" role="log" aria-live="off" tabindex="0" aria-label="Log" ref="box" @scroll="scrolled">
      <p v-if="!lines.length" class="meta">{{ empty }}</p>
      <template v-for="block in blocks" :key="block[0].number">
        <div v-if="block.length === 1" class="log-line" :class="block[0].level"><span class="log-number">{{ block[0].number }}</span><time class="log-time" :title="exact(block[0].at)">{{ clock(block[0].at) }}</time><span class="log-level">{{ block[0].level }}</span><span class="log-text">{{ block[0].text }}</span></div>
        <details v-else class="log-trace">
          <summary class="log-line" :class="block[0].level"><span class="log-number">{{ block[0].number }}</span><time class="log-time" :title="exact(block[0].at)">{{ clock(block[0].at) }}</time><span class="log-level">{{ block[0].level }}</span><span class="log-text">Traceback, {{ block.length }} lines</span></summary>
          <div v-for="line in block" :key="line.number" class="log-line" :class="line.level"><span class="log-number">{{ line.number }}</span><span></span><span></span><span class="log-text">{{ line.text }}</span></div>
        </details>
      </template>
    </div>`,
  props: { initial: Array, empty: String, most: Number },
  data() {
    return { lines: this.initial, following: true };
  },
  computed: {
    // Lines one by one, and a traceback, which is logged at one moment, as one block.
    blocks() {
      const blocks = [];
      let open = null;
      for (const line of this.lines) {
        if (open && line.at === open[0].at && line.level === open[0].level) open.push(line);
        else blocks.push((open = [line]));
        if (open.length === 1 && !/Traceback \(most recent call last\):$/.test(line.text)) open = null;
      }
      return blocks;
    },
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
