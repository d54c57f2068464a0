// The linked maps inside a console page. The selection is kept in the address.
import { explore } from "delphi-maps/explorer.js";

export default {
  template: `<div class="delphi"><div ref="box" class="maps-box"><p v-if="wrong" class="note failed" role="alert">{{ wrong }}</p><p v-else class="meta" role="status">Reading the maps …</p></div></div>`,
  props: { source: String, start: Object, comments: String },
  data: () => ({ wrong: "" }),
  async mounted() {
    try {
      const answer = await fetch((window.path_prefix || "") + this.source);
      const data = await answer.json();
      if (!answer.ok) throw new Error(data.error?.message ?? "The host sent an unexpected answer.");
      const box = document.createElement("div");
      this.$refs.box.replaceChildren(box);
      this.maps = explore(box, data, { start: this.start, remember: this.remember, address: (id) => this.comments.replace("ID", id) });
    } catch (error) {
      this.wrong = `The maps cannot be shown: ${error.message}`;
    }
  },
  beforeUnmount() {
    this.maps?.close();
  },
  methods: {
    remember(chosen) {
      const address = new URL(location.href);
      for (const [name, value] of Object.entries(chosen)) {
        if (value === null) address.searchParams.delete(name);
        else address.searchParams.set(name, value);
      }
      history.replaceState(history.state, "", address);
    },
  },
};
