// One file for a project or a scene, sent to the API; the page is shown anew when it has arrived.
import { FileDrop, readToken, sendForm, sizeOf } from "gateleg-uploads";

export default {
  components: { FileDrop },
  template: `
    <form class="stack gap-1 mv-file" @submit.prevent="send">
      <file-drop v-model="files" :busy="busy" :accept="accept" :words="words" :multiple="false" />
      <div v-if="files.length" class="line gap-2">
        <button class="deed small first" :disabled="busy">{{ busy ? "Uploading" : "Upload" }}</button>
        <progress v-if="busy" :value="part" max="1" aria-label="Sent"></progress>
        <span v-if="busy" class="meta num" role="status">{{ part < 1 ? Math.round(part * 100) + "% sent" : "Looking into it" }}</span>
      </div>
      <div v-if="wrong" class="trouble" role="alert"><span class="what">{{ wrong.message }}</span><span v-if="wrong.fix" class="meta">{{ wrong.fix }}</span></div>
    </form>`,
  props: { address: String, method: String, accept: String, words: String, most: Number },
  data: () => ({ files: [], busy: false, part: 0, wrong: null }),
  mounted() {
    window.Quasar?.LoadingBar?.setDefaults({ hijackFilter: () => false });
  },
  methods: {
    async send() {
      this.wrong = null;
      if (this.files[0].size > this.most) return (this.wrong = { message: `${this.files[0].name} has ${sizeOf(this.files[0].size)}; at most ${sizeOf(this.most)} are taken.` });
      this.busy = true;
      this.part = 0;
      try {
        const options = { token: await readToken(), method: this.method, progress: (part) => (this.part = part) };
        await sendForm(`${window.path_prefix || ""}${this.address}`, this.files, options);
        location.reload();
      } catch (error) {
        this.busy = false;
        this.wrong = error && { message: error.message ?? String(error), fix: error.details?.fix ?? error.fix };
      }
    },
  },
};
