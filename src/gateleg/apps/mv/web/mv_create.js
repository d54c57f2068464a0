// The form of a new video: creates the project, uploads its files, and starts the work.
import { FileDrop, errorOf, readToken, sendForm, sizeOf } from "gateleg-uploads";

export default {
  components: { FileDrop },
  template: `
    <form class="stack gap-2 mv-create" @submit.prevent="make">
      <div class="fields">
        <label class="field whole"><span class="name">What the video is about</span><textarea class="box prose" rows="3" v-model.trim="prompt" required maxlength="2000" dir="auto" placeholder="A silver robot walks through Austin at night"></textarea></label>
        <label class="field"><span class="name">Purpose</span><select class="box" v-model="mode"><option value="music-video">A music video</option><option value="ad-creative">An ad for a product</option></select></label>
        <label class="field"><span class="name">Main character or object</span><input class="box" v-model.trim="character" :required="mode === 'music-video'" maxlength="2000" dir="auto" placeholder="A silver robot with blue eyes" /></label>
        <label v-if="mode === 'ad-creative'" class="field"><span class="name">Product, shown in every scene</span><input class="box" v-model.trim="product" required maxlength="2000" dir="auto" placeholder="A red can of lemonade" /></label>
        <label class="field"><span class="name">Title</span><input class="box" v-model.trim="title" maxlength="200" dir="auto" placeholder="Shown at the start" /></label>
      </div>
      <fieldset class="mv-directors"><legend class="name">Director</legend>
        <label v-for="one in directors" :key="one.name" class="mv-director" :class="{ chosen: director === one.name }"><input type="radio" class="sr" name="director" :value="one.name" v-model="director" /><span class="strong">{{ one.title }}</span><span class="meta">{{ one.description }}</span></label>
      </fieldset>
      <div class="fields">
        <label class="field"><span class="name">Aspect ratio</span><select class="box" v-model="aspect"><option value="16:9">Wide, 16:9</option><option value="9:16">Tall, 9:16</option><option value="1:1">Square, 1:1</option></select></label>
        <label class="field"><span class="name">Resolution</span><select class="box" v-model.number="resolution"><option v-for="one in resolutions" :key="one" :value="one">{{ one }}p{{ one <= 480 ? " (draft)" : "" }}</option></select></label>
        <label v-if="films.length" class="field"><span class="name">Provider</span><select class="box" v-model="provider"><option value="studio">Studio: drawn on this machine, free</option><option v-for="one in films" :key="one" :value="one">{{ one }}: a paid video model</option></select></label>
        <label v-if="provider !== 'studio'" class="field"><span class="name">Spend cap in US dollars</span><input class="box num" type="number" min="0" step="0.01" required v-model.number="cap" /></label>
      </div>
      <div class="field"><span class="name">Song</span><file-drop v-model="songs" :busy="busy" accept="audio/*,video/*" words="or drop it here: MP3, M4A, WAV, FLAC, OGG or a video. " :multiple="false" /></div>
      <label v-if="!songs.length" class="tick"><input type="checkbox" v-model="demo" />Use a synthesised song</label>
      <div class="field"><span class="name">Picture of the character</span><file-drop v-model="pictures" :busy="busy" accept="image/png,image/jpeg,image/webp" words="or drop it here: PNG, JPEG or WebP. Without one, a figure is drawn." :multiple="false" /></div>
      <div v-if="mode === 'ad-creative'" class="field"><span class="name">Picture of the product</span><file-drop v-model="products" :busy="busy" accept="image/png,image/jpeg,image/webp" words="or drop it here: PNG, JPEG or WebP, best on a plain background. Every scene shows it." :multiple="false" /></div>
      <label class="tick"><input type="checkbox" v-model="storyboard" />Only write the scenes, so that you can edit them before they are rendered</label>
      <div class="line gap-2">
        <button class="deed first" :disabled="busy">{{ busy ? "Starting" : storyboard ? "Write the scenes" : "Make the video" }}</button>
        <button v-if="busy" type="button" class="deed bare" @click="stop">Cancel</button>
        <progress v-if="busy" :value="part" max="1" aria-label="Upload progress"></progress>
        <span v-if="busy" class="meta num" role="status">{{ part > 0 && part < 1 ? Math.round(part * 100) + "% uploaded" : "Please wait" }}</span>
      </div>
      <div v-if="wrong" class="trouble" role="alert"><span class="what">{{ wrong.message }}</span><span v-if="wrong.fix" class="meta">{{ wrong.fix }}</span></div>
    </form>`,
  props: { directors: Array, films: Array, usual: String, lines: Number, most: Number },
  data() {
    return { prompt: "", mode: "music-video", character: "", product: "", products: [], title: "", director: this.usual, aspect: "16:9", resolution: this.lines, provider: "studio", cap: null, songs: [], pictures: [], storyboard: false, demo: false, busy: false, part: 0, wrong: null, made: null };
  },
  mounted() {
    // The form shows its own progress; the framework's loading bar has no accessible name.
    window.Quasar?.LoadingBar?.setDefaults({ hijackFilter: () => false });
  },
  computed: {
    resolutions() {
      return [...new Set([480, 720, 1080, this.lines])].sort((one, other) => one - other);
    },
  },
  methods: {
    address(rest = "") {
      return `${window.path_prefix || ""}/api/mv/projects${rest}`;
    },
    async post(url, token, body) {
      const headers = { "content-type": "application/json", ...(token ? { "x-csrf-token": token } : {}) };
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      if (!answer.ok) throw errorOf(await answer.text(), answer.status);
      return answer.json();
    },
    async send(name, files, token) {
      if (!files.length) return;
      this.part = 0;
      await sendForm(this.address(`/${this.made}/${name}`), files, { token, method: "PUT", progress: (part) => (this.part = part), started: (request) => (this.request = request) });
    },
    async make() {
      this.wrong = null;
      const large = [...this.songs, ...this.pictures, ...this.products].find((file) => file.size > this.most);
      if (large) return (this.wrong = { message: `${large.name} has ${sizeOf(large.size)}; the limit is ${sizeOf(this.most)}.` });
      this.busy = true;
      try {
        const token = await readToken();
        const ad = this.mode === "ad-creative";
        const body = { prompt: this.prompt, mode: this.mode, characterDescription: this.character || null, productDescription: ad ? this.product : null, title: this.title, directorConfig: this.director, aspectRatio: this.aspect, resolution: this.resolution };
        if (this.provider !== "studio") Object.assign(body, { provider: this.provider, spendCap: this.cap });
        // A second attempt, after a file was refused, uses the same project.
        if (this.made === null) this.made = (await this.post(this.address(), token, body)).projectId;
        await this.send("audio", this.songs, token);
        await this.send("character", this.pictures, token);
        if (ad) await this.send("product", this.products, token);
        await this.post(this.address(`/${this.made}/generate?storyboard=${this.storyboard}&demoSong=${this.demo && !this.songs.length}`), token);
        location.assign(`${window.path_prefix || ""}/mv/${this.made}`);
      } catch (error) {
        this.busy = false;
        this.wrong = error && { message: error.message ?? String(error), fix: error.details?.fix ?? error.fix };
      }
    },
    stop() {
      this.request?.abort();
    },
  },
};
