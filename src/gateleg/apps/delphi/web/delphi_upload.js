// The upload form of a conversation: sends its files to the API, and shows progress and rows that cannot be read.
import { FileDrop, errorOf, readToken, sendForm, sizeOf } from "gateleg-uploads";

const SHOWN = 20;

export default {
  components: { FileDrop },
  template: `
    <form class="stack gap-2 delphi-upload" @submit.prevent="send">
      <div v-if="!conversation" class="fields">
        <label class="field whole"><span class="name">Topic</span><input class="box" v-model.trim="topic" required maxlength="1000" dir="auto" placeholder="What should our town do next?" /></label>
        <label class="field"><span class="name">Name</span><input class="box" v-model.trim="named" required maxlength="200" :placeholder="slug" /><span class="hint">Part of its address</span></label>
        <label v-if="groups.length > 1" class="field"><span class="name">Belongs to</span><select class="box" v-model="group"><option v-for="[value, words] in groups" :key="value" :value="value">{{ words }}</option></select></label>
      </div>
      <file-drop v-model="files" :busy="busy" accept=".csv,.zip,.xlsx,.xls,.ods,text/csv,application/zip" words="or drop them here: CSV files, a ZIP file of them, or a spreadsheet" @update:model-value="wrong = null" />
      <details><summary class="meta">Reading options</summary><div class="fields">
        <label class="field"><span class="name">Number of points on a spreadsheet's scale</span><input class="box" type="number" v-model="scale" min="2" max="100" placeholder="from the answers" /><span class="hint">5 for answers from 1 to 5</span></label>
        <label class="tick"><input type="checkbox" v-model="inverted" />A vote of -1 means agreement</label>
      </div></details>
      <label class="tick"><input type="checkbox" v-model="maps" />Map it after the upload</label>
      <div class="line gap-2">
        <button class="deed first" :disabled="busy || !files.length">{{ busy ? "Uploading" : "Upload" }}</button>
        <button v-if="busy" type="button" class="deed bare" @click="stop">Stop</button>
        <progress v-if="busy" :value="part" max="1" aria-label="Sent"></progress>
        <span v-if="busy" class="meta num" role="status">{{ part < 1 ? Math.round(part * 100) + "% sent" : "Reading and checking the files …" }}</span>
      </div>
      <div v-if="wrong" class="trouble" role="alert">
        <span class="what">{{ wrong.message }}</span><span v-if="wrong.fix" class="meta">{{ wrong.fix }}</span>
        <table v-if="wrong.problems.length" class="delphi-table wide"><thead><tr><th scope="col">File</th><th scope="col" class="right">Line</th><th scope="col">Problem</th></tr></thead><tbody><tr v-for="one in wrong.problems" :key="one.file + one.line"><td>{{ one.file }}</td><td class="right num">{{ one.line.toLocaleString("en") }}</td><td>{{ one.why }}</td></tr></tbody></table>
        <span v-if="wrong.more" class="meta">{{ wrong.more }}</span>
      </div>
    </form>`,
  props: { conversation: String, known: String, groups: Array, most: Number, pipeline: Object },
  data() {
    return { topic: this.known, named: "", group: this.groups[0]?.[0] ?? "", files: [], maps: true, scale: "", inverted: false, busy: false, part: 0, wrong: null };
  },
  mounted() {
    // The form shows its own progress; the framework's progress bar has no accessible name.
    window.Quasar?.LoadingBar?.setDefaults({ hijackFilter: () => false });
  },
  computed: {
    slug() {
      return this.topic.toLowerCase().normalize("NFKD").replace(/[^\p{Letter}\p{Number}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
    },
  },
  watch: {
    // The name follows the topic until the user changes it.
    slug(now, before) {
      if (!this.named || this.named === before) this.named = now;
    },
  },
  methods: {
    address(name, rest) {
      return `${window.path_prefix || ""}/api/delphi/conversations/${encodeURIComponent(name)}/${rest}`;
    },
    async send() {
      this.wrong = null;
      const whole = this.files.reduce((sum, file) => sum + file.size, 0);
      if (whole > this.most) return this.refuse({ message: `These files have ${sizeOf(whole)}; this host accepts at most ${sizeOf(this.most)} at once.` });
      this.busy = true;
      this.part = 0;
      try {
        const token = await readToken(), name = this.conversation || this.named;
        await this.post(name, token);
        if (this.maps) await this.map(name, token);
        location.assign(`${window.path_prefix || ""}/delphi/${encodeURIComponent(name)}`);
      } catch (error) {
        this.busy = false;
        if (error) this.refuse(error);
      }
    },
    post(name, token) {
      const query = new URLSearchParams(this.conversation ? { topic: this.known } : { topic: this.topic, new: "true", ...(this.group ? { group: this.group } : {}) });
      if (this.scale) query.set("scale", this.scale);
      if (this.inverted) query.set("inverted", "true");
      const options = { token, progress: (part) => (this.part = part), started: (request) => (this.request = request) };
      return sendForm(this.address(name, `files?${query}`), this.files, options);
    },
    async map(name, token) {
      const headers = { "content-type": "application/json", ...(token ? { "x-csrf-token": token } : {}) };
      const answer = await fetch(this.address(name, "jobs"), { method: "POST", headers, body: JSON.stringify({ job_type: "FULL_PIPELINE", config: this.pipeline }) });
      if (!answer.ok) throw errorOf(await answer.text(), answer.status);
    },
    refuse(error) {
      const details = error.details ?? {}, problems = (details.problems ?? []).slice(0, SHOWN), more = (details.count ?? 0) - problems.length;
      const message = problems.length ? `${details.count.toLocaleString("en")} ${details.count === 1 ? "row" : "rows"} cannot be read.` : error.message ?? String(error);
      this.wrong = { message, fix: details.fix ?? error.fix ?? "", problems, more: more > 0 ? `and ${more.toLocaleString("en")} more` : "" };
    },
    stop() {
      this.request?.abort();
    },
  },
};
