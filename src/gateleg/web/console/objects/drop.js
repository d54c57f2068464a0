// A place to drop files on, or to choose them with a button. Each file is sent by itself, shows how far it is, and can be stopped.
export default {
  template: `
    <div class="drop-zone" :class="{ over }" @dragover.prevent="over = true" @dragleave="over = false" @drop.prevent="drop">
      <div class="line gap-2">
        <label class="deed"><i class="q-icon material-icons" aria-hidden="true">upload</i><span>Choose files</span>
          <input class="sr" type="file" :multiple="multiple" @change="choose" /></label>
        <span class="meta">{{ label }}</span>
      </div>
      <ul v-if="going.length" class="stack gap-1">
        <li v-for="one in going" :key="one.number" class="line gap-1">
          <span class="clip grow">{{ one.name }}</span>
          <span v-if="one.wrong" class="wrong" role="alert">{{ one.wrong }}</span>
          <progress v-else :value="one.part" max="1" :aria-label="'Sending ' + one.name"></progress>
          <button type="button" class="deed small bare" @click="stop(one)">{{ one.wrong ? "Dismiss" : "Stop" }}</button>
        </li>
      </ul>
    </div>`,
  props: { url: String, label: String, multiple: Boolean, maxFileSize: Number },
  emits: ["rejected"],
  data: () => ({ over: false, going: [], count: 0 }),
  methods: {
    choose(event) {
      this.take([...event.target.files]);
      event.target.value = "";
    },
    drop(event) {
      this.over = false;
      this.take([...event.dataTransfer.files]);
    },
    take(files) {
      const small = files.filter((file) => !this.maxFileSize || file.size <= this.maxFileSize);
      if (small.length < files.length) this.$emit("rejected");
      for (const file of this.multiple ? small : small.slice(0, 1)) this.send(file);
    },
    send(file) {
      const number = ++this.count;
      this.going.push({ number, name: file.name, part: 0, wrong: "" });
      const one = this.going[this.going.length - 1];
      const request = new XMLHttpRequest();
      one.request = Object.freeze({ stop: () => request.abort() });
      request.upload.onprogress = (event) => (one.part = event.total ? event.loaded / event.total : 0);
      request.onload = () => (request.status < 300 ? this.drop_out(one) : (one.wrong = `The host refused it (${request.status}).`));
      request.onerror = () => (one.wrong = "The connection broke.");
      const form = new FormData();
      form.append("file", file, file.name);
      request.open("POST", (window.path_prefix || "") + this.url);
      request.send(form);
    },
    drop_out(one) {
      this.going = this.going.filter((other) => other.number !== one.number);
    },
    stop(one) {
      one.request.stop();
      this.drop_out(one);
    },
  },
};
