// Files that are sent to an address of an API in one request; the page is shown anew when they have arrived.
import { FileDrop, readToken, sendForm, sizeOf } from "gateleg-uploads";

export default {
  components: { FileDrop },
  template: `
    <form class="stack gap-1" @submit.prevent="send">
      <file-drop v-model="files" :busy="busy" :accept="accept" :words="words" :multiple="multiple" />
      <div v-if="files.length" class="line gap-2">
        <button class="deed small first" :disabled="busy">{{ busy ? "Uploading" : "Upload" }}</button>
        <progress v-if="busy" :value="part" max="1" aria-label="Sent"></progress>
        <span v-if="busy" class="meta num" role="status">{{ part < 1 ? Math.round(part * 100) + "% sent" : "Looking into it" }}</span>
      </div>
      <div v-if="wrong" class="trouble" role="alert"><span class="what">{{ wrong.message }}</span><span v-if="wrong.fix" class="meta">{{ wrong.fix }}</span></div>
    </form>`,
  props: { address: String, method: String, accept: String, words: String, maxBytes: Number, multiple: Boolean },
  data: () => ({ files: [], busy: false, part: 0, wrong: null }),
  mounted() {
    window.Quasar?.LoadingBar?.setDefaults({ hijackFilter: () => false });
  },
  methods: {
    async send() {
      this.wrong = null;
      const large = this.files.find((file) => file.size > this.maxBytes);
      if (large) return (this.wrong = { message: `${large.name} has ${sizeOf(large.size)}; the limit is ${sizeOf(this.maxBytes)}.` });
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
