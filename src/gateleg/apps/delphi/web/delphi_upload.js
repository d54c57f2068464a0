// The files of a conversation, sent to the API as one form: how far it is, and when rows cannot be read, which.
const SHOWN = 20;

export default {
  template: `
    <form class="stack gap-2 delphi-upload" @submit.prevent="send">
      <div v-if="!conversation" class="fields">
        <label class="field whole"><span class="name">What it is about</span><input class="box" v-model.trim="topic" required maxlength="1000" dir="auto" placeholder="What should our town do next?" /></label>
        <label class="field"><span class="name">Name</span><input class="box" v-model.trim="named" required maxlength="200" :placeholder="slug" /><span class="hint">Stands in its address</span></label>
        <label v-if="groups.length > 1" class="field"><span class="name">Belongs to</span><select class="box" v-model="group"><option v-for="[value, words] in groups" :key="value" :value="value">{{ words }}</option></select></label>
      </div>
      <div class="drop-zone" :class="{ over }" @dragover.prevent="over = true" @dragleave="over = false" @drop.prevent="drop">
        <div class="line gap-2"><label class="deed"><i class="q-icon material-icons" aria-hidden="true">upload_file</i><span>Choose files</span><input class="sr" type="file" multiple accept=".csv,.zip,text/csv,application/zip" @change="choose" /></label><span class="meta">or drop them here: CSV files, or a ZIP of them</span></div>
        <ul v-if="files.length" class="stack gap-1"><li v-for="(file, place) in files" :key="file.name" class="line gap-1"><span class="clip grow">{{ file.name }}</span><span class="meta num">{{ size(file.size) }}</span><button type="button" class="deed small bare" :aria-label="'Leave out ' + file.name" :disabled="busy" @click="files.splice(place, 1)">Leave out</button></li></ul>
      </div>
      <label class="tick"><input type="checkbox" v-model="maps" />Map it when it is uploaded</label>
      <div class="line gap-2">
        <button class="deed first" :disabled="busy || !files.length">{{ busy ? "Uploading" : "Upload" }}</button>
        <button v-if="busy" type="button" class="deed bare" @click="stop">Stop</button>
        <progress v-if="busy" :value="part" max="1" aria-label="Sent"></progress>
        <span v-if="busy" class="meta num" role="status">{{ part < 1 ? Math.round(part * 100) + "% sent" : "Reading and checking the files …" }}</span>
      </div>
      <div v-if="wrong" class="trouble" role="alert">
        <span class="what">{{ wrong.message }}</span><span v-if="wrong.fix" class="meta">{{ wrong.fix }}</span>
        <table v-if="wrong.problems.length" class="delphi-table wide"><thead><tr><th scope="col">File</th><th scope="col" class="right">Line</th><th scope="col">What is wrong</th></tr></thead><tbody><tr v-for="one in wrong.problems" :key="one.file + one.line"><td>{{ one.file }}</td><td class="right num">{{ one.line.toLocaleString("en") }}</td><td>{{ one.why }}</td></tr></tbody></table>
        <span v-if="wrong.more" class="meta">{{ wrong.more }}</span>
      </div>
    </form>`,
  props: { conversation: String, known: String, groups: Array, most: Number, pipeline: Object },
  data() {
    return { topic: this.known, named: "", group: this.groups[0]?.[0] ?? "", files: [], over: false, maps: true, busy: false, part: 0, wrong: null };
  },
  mounted() {
    // The form shows how far it is by itself; the framework's own bar has no name for those who cannot see it.
    window.Quasar?.LoadingBar?.setDefaults({ hijackFilter: () => false });
  },
  computed: {
    slug() {
      return this.topic.toLowerCase().normalize("NFKD").replace(/[^\p{Letter}\p{Number}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
    },
  },
  watch: {
    // The name follows what it is about, until somebody gives another one.
    slug(now, before) {
      if (!this.named || this.named === before) this.named = now;
    },
  },
  methods: {
    size: (bytes) => (bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`),
    choose(event) {
      this.take([...event.target.files]);
      event.target.value = "";
    },
    drop(event) {
      this.over = false;
      this.take([...event.dataTransfer.files]);
    },
    take(files) {
      this.wrong = null;
      this.files = [...this.files.filter((one) => !files.some((file) => file.name === one.name)), ...files];
    },
    address(name, rest) {
      return `${window.path_prefix || ""}/api/delphi/conversations/${encodeURIComponent(name)}/${rest}`;
    },
    async send() {
      this.wrong = null;
      const whole = this.files.reduce((sum, file) => sum + file.size, 0);
      if (whole > this.most) return this.refuse({ message: `These files have ${this.size(whole)}; this host takes ${this.size(this.most)} at once.` });
      this.busy = true;
      this.part = 0;
      try {
        const session = await (await fetch(`${window.path_prefix || ""}/api/session`)).json();
        const name = this.conversation || this.named;
        await this.post(name, session.csrf_token);
        if (this.maps) await this.map(name, session.csrf_token);
        location.assign(`${window.path_prefix || ""}/delphi/${encodeURIComponent(name)}`);
      } catch (error) {
        this.busy = false;
        if (error) this.refuse(error);
      }
    },
    post(name, token) {
      const query = new URLSearchParams(this.conversation ? { topic: this.known } : { topic: this.topic, new: "true", ...(this.group ? { group: this.group } : {}) });
      const form = new FormData();
      for (const file of this.files) form.append("file", file, file.name);
      const request = (this.request = new XMLHttpRequest());
      return new Promise((done, refuse) => {
        request.upload.onprogress = (event) => (this.part = event.total ? event.loaded / event.total : 0);
        request.upload.onload = () => (this.part = 1);
        request.onload = () => (request.status < 300 ? done() : refuse(this.told(request.responseText, request.status)));
        request.onerror = () => refuse({ message: "The connection broke.", fix: "Nothing was loaded; try again." });
        request.onabort = () => refuse(null);
        request.open("POST", this.address(name, `files?${query}`));
        if (token) request.setRequestHeader("x-csrf-token", token);
        request.send(form);
      });
    },
    async map(name, token) {
      const headers = { "content-type": "application/json", ...(token ? { "x-csrf-token": token } : {}) };
      const answer = await fetch(this.address(name, "jobs"), { method: "POST", headers, body: JSON.stringify({ job_type: "FULL_PIPELINE", config: this.pipeline }) });
      if (!answer.ok) throw this.told(await answer.text(), answer.status);
    },
    told(text, status) {
      try {
        return JSON.parse(text).error;
      } catch {
        return { message: `The host refused it (${status}).` };
      }
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
