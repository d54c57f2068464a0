// Files on their way to the host: chosen or dropped, then sent whole as a form, or in parts that survive a broken connection.
const PART = 8 * 1024 * 1024;
const TRIES = 8;

export const sizeOf = (bytes) => (bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

// What a page sends along with its writes.
export async function readToken() {
  const answer = await fetch(`${window.path_prefix || ""}/api/session`);
  return (await answer.json()).csrf_token;
}

// The error of an answer in the host's envelope.
export function errorOf(text, status) {
  try {
    return JSON.parse(text).error;
  } catch {
    return { message: `The host refused it (${status}).` };
  }
}

const broken = () => ({ message: "The connection broke.", fix: "Nothing was loaded; try again.", broken: true });

// One request with a body, whose progress is told; `started` gets the request, so that it can be stopped. Stopped, it is refused with null.
function send(method, url, body, { headers = {}, progress = () => {}, started = () => {} } = {}) {
  const request = new XMLHttpRequest();
  return new Promise((done, refuse) => {
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.onload = () => (request.status < 300 ? done(request) : refuse({ ...errorOf(request.responseText, request.status), status: request.status }));
    request.onerror = () => refuse(broken());
    request.onabort = () => refuse(null);
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) if (value) request.setRequestHeader(name, value);
    started(request);
    request.send(body);
  });
}

// All files at once, as a form.
export function sendForm(url, files, { token, method = "POST", progress = () => {}, started } = {}) {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  const part = (loaded, total) => progress(total ? loaded / total : 0);
  return send(method, url, form, { headers: { "x-csrf-token": token }, progress: part, started });
}

const encoded = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const kept = (address, file) => `gateleg-upload ${address} ${file.name} ${file.size} ${file.lastModified}`;
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

async function offsetOf(place) {
  const answer = await fetch(place, { method: "HEAD" });
  return answer.ok ? Number(answer.headers.get("upload-offset")) : null;
}

// One file in parts, by the protocol tus 1.0. An upload of the same file that was stopped or cut off goes on where it was.
export async function sendInParts(address, file, { token, details = {}, progress = () => {}, started, part = PART } = {}) {
  const known = kept(address, file);
  let place = localStorage.getItem(known), offset = place ? await offsetOf(place) : null;
  if (offset === null) {
    const metadata = Object.entries({ filename: file.name, ...details }).map(([name, value]) => `${name} ${encoded(value)}`).join(",");
    const begun = await send("POST", address, null, { headers: { "x-csrf-token": token, "upload-length": String(file.size), "upload-metadata": metadata } });
    place = begun.getResponseHeader("location");
    offset = Number(begun.getResponseHeader("upload-offset"));
    localStorage.setItem(known, place);
  }
  for (let tries = 0; offset < file.size; ) {
    const from = offset;
    try {
      const headers = { "x-csrf-token": token, "upload-offset": String(from), "content-type": "application/offset+octet-stream" };
      const told = (loaded) => progress((from + loaded) / file.size);
      const answer = await send("PATCH", place, file.slice(from, from + part), { headers, progress: told, started });
      offset = Number(answer.getResponseHeader("upload-offset"));
      tries = 0;
    } catch (error) {
      if (!error || !(error.broken || error.status === 409 || error.status >= 500) || ++tries > TRIES) {
        if (error && !error.broken) localStorage.removeItem(known);
        throw error;
      }
      await pause(Math.min(30, 0.5 * 2 ** tries));
      offset = (await offsetOf(place).catch(() => from)) ?? from;
    }
  }
  localStorage.removeItem(known);
  return (await fetch(place)).json();
}

// Where files are chosen or dropped, and the list of those that were.
export const FileDrop = {
  template: `
    <div class="drop-zone" :class="{ over }" @dragover.prevent="over = true" @dragleave="over = false" @drop.prevent="drop">
      <div class="line gap-2"><label class="deed"><i class="q-icon material-icons" aria-hidden="true">upload_file</i><span>Choose files</span><input class="sr" type="file" :multiple="multiple" :accept="accept" @change="choose" /></label><span class="meta">{{ words }}</span></div>
      <ul v-if="modelValue.length" class="stack gap-1"><li v-for="(file, place) in modelValue" :key="file.name" class="line gap-1"><span class="clip grow">{{ file.name }}</span><span class="meta num">{{ size(file.size) }}</span><button type="button" class="deed small bare" :aria-label="'Leave out ' + file.name" :disabled="busy" @click="leave(place)">Leave out</button></li></ul>
    </div>`,
  props: { modelValue: Array, busy: Boolean, accept: String, words: String, multiple: { type: Boolean, default: true } },
  emits: ["update:modelValue"],
  data: () => ({ over: false }),
  methods: {
    size: sizeOf,
    choose(event) {
      this.take([...event.target.files]);
      event.target.value = "";
    },
    drop(event) {
      this.over = false;
      this.take([...event.dataTransfer.files]);
    },
    take(files) {
      const kept = this.multiple ? this.modelValue.filter((one) => !files.some((file) => file.name === one.name)) : [];
      this.$emit("update:modelValue", [...kept, ...(this.multiple ? files : files.slice(0, 1))]);
    },
    leave(place) {
      this.$emit("update:modelValue", this.modelValue.filter((_, index) => index !== place));
    },
  },
};
