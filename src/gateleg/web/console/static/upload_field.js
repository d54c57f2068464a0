// A field that sends files in parts and shows how far it is; a connection that breaks costs nothing but time.
import { FileDrop, readToken, sendInParts, sizeOf } from "gateleg-uploads";

export default {
  components: { FileDrop },
  template: `
    <form class="stack gap-2 kit-upload" @submit.prevent="send">
      <file-drop v-model="files" :busy="busy" :accept="accept" :words="words" :multiple="multiple" />
      <div class="line gap-2">
        <button class="deed first" :disabled="busy || !files.length">{{ busy ? "Uploading" : "Upload" }}</button>
        <button v-if="busy" type="button" class="deed bare" @click="stop">Stop</button>
        <progress v-if="busy" :value="part" max="1" aria-label="Sent"></progress>
        <span class="meta num" role="status">{{ busy ? Math.round(part * 100) + "% sent" : done }}</span>
      </div>
      <div v-if="wrong" class="trouble" role="alert"><span class="what">{{ wrong.message }}</span><span v-if="wrong.fix" class="meta">{{ wrong.fix }}</span></div>
    </form>`,
  props: { address: String, maxBytes: Number, accept: String, words: String, multiple: Boolean, details: Object, size: Number },
  data: () => ({ files: [], busy: false, part: 0, wrong: null, done: "", request: null }),
  mounted() {
    // The field shows how far it is by itself; the framework's own bar has no name for those who cannot see it.
    window.Quasar?.LoadingBar?.setDefaults({ hijackFilter: () => false });
  },
  methods: {
    async send() {
      this.wrong = null;
      const large = this.files.find((file) => file.size > this.maxBytes);
      if (large) return (this.wrong = { message: `${large.name} has ${sizeOf(large.size)}; the limit is ${sizeOf(this.maxBytes)}.` });
      this.busy = true;
      try {
        const token = await readToken();
        while (this.files.length) {
          this.part = 0;
          const options = { token, details: this.details, part: this.size, progress: (part) => (this.part = part), started: (request) => (this.request = request) };
          const upload = await sendInParts(`${window.path_prefix || ""}${this.address}`, this.files[0], options);
          this.done = `${upload.name} was uploaded.`;
          this.$emit("uploaded", upload);
          this.files = this.files.slice(1);
        }
      } catch (error) {
        this.wrong = error && { message: error.message ?? String(error), fix: error.details?.fix ?? error.fix };
      }
      this.busy = false;
    },
    stop() {
      this.request?.abort();
    },
  },
};
