// The animation of how the groups formed, inside a console page.
import { replay } from "delphi-maps/replay.js";

export default {
  template: `<div class="delphi"><p v-if="wrong" class="note failed" role="alert">{{ wrong }}</p><p v-else-if="!data" class="meta" role="status">Reading the timeline …</p><div ref="box"></div><template v-if="data"><p class="meta">{{ data.how }}</p><details><summary>As a table</summary><div class="delphi-scroll" tabindex="0" role="region" aria-label="Groups over time"><table class="delphi-table"><thead><tr><th scope="col">Time (UTC)</th><th v-for="name in ['Votes', 'People', 'Compared', 'Comments', ...data.groups.map((one) => one.name)]" :key="name" scope="col" class="right">{{ name }}</th></tr></thead><tbody><tr v-for="one in data.moments" :key="one.votes"><th scope="row">{{ one.when }}</th><td v-for="(figure, place) in [one.votes, one.participants, one.compared, one.comments, ...one.sizes]" :key="place" class="right num">{{ one.chance && place > 3 ? "–" : figure.toLocaleString("en") }}</td></tr></tbody></table></div></details></template></div>`,
  props: { source: String },
  data: () => ({ wrong: "", data: null }),
  async mounted() {
    try {
      const answer = await fetch((window.path_prefix || "") + this.source);
      const data = await answer.json();
      if (!answer.ok) throw new Error(data.error?.message ?? "The host sent an unexpected answer.");
      this.data = Object.freeze(data);
      this.shown = replay(this.$refs.box, data);
    } catch (error) {
      this.wrong = `The timeline cannot be shown: ${error.message}`;
    }
  },
  beforeUnmount() {
    this.shown?.close();
  },
};
