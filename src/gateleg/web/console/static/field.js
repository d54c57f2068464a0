// One field of a form: a label, a native control, a hint, and what is wrong with it.
export default {
  template: `
    <div class="field" :class="{ whole }">
      <label v-if="kind === 'tick'" class="tick"><input :id="name" type="checkbox" :checked="text" :disabled="off" @change="set($event.target.checked)" /><span>{{ label }}</span></label>
      <fieldset v-else-if="kind === 'ticks'" :aria-describedby="name + '-about'">
        <legend class="name">{{ label }}</legend>
        <input v-if="choices.length > 12" class="box" type="search" placeholder="Filter" :aria-label="'Filter ' + label" v-model="wanted" />
        <div class="ticks"><label v-for="choice in offered" :key="choice[0]" class="tick"><input type="checkbox" :checked="text.includes(choice[0])" :disabled="off" @change="tick(choice[0], $event.target.checked)" /><span>{{ choice[1] }}</span></label></div>
      </fieldset>
      <template v-else>
        <label class="name" :for="name">{{ label }}<span v-if="required" class="faint" aria-hidden="true"> *</span></label>
        <select v-if="kind === 'choice'" :id="name" class="box" :disabled="off" :value="text" @change="set($event.target.value)">
          <option v-for="choice in choices" :key="choice[0]" :value="choice[0]">{{ choice[1] }}</option>
        </select>
        <textarea v-else-if="kind === 'area'" :id="name" class="box" :rows="rows" :placeholder="placeholder" :disabled="off" :value="text" spellcheck="false"
          :aria-invalid="wrong ? 'true' : 'false'" :aria-describedby="name + '-about'" @input="set($event.target.value)" @keydown.meta.enter="$emit('enter')" @keydown.ctrl.enter="$emit('enter')"></textarea>
        <input v-else :id="name" class="box" :type="kind" :placeholder="placeholder" :disabled="off" :value="text" :required="required" :min="min" :max="max" autocomplete="off" :list="options.length ? name + '-options' : undefined"
          :aria-invalid="wrong ? 'true' : 'false'" :aria-describedby="name + '-about'" @input="set($event.target.value)" @keydown.enter="$emit('enter')" />
        <datalist v-if="options.length" :id="name + '-options'"><option v-for="option in options" :key="option" :value="option"></option></datalist>
      </template>
      <span :id="name + '-about'"><span v-if="wrong" class="wrong" role="alert">{{ wrong }}</span><span v-else-if="hint" class="hint">{{ hint }}</span></span>
    </div>`,
  props: {
    label: String, name: String, kind: String, value: [String, Boolean, Number, Array], hint: String, wrong: String, placeholder: String, required: Boolean,
    whole: Boolean, off: Boolean, rows: Number, choices: Array, turn: Number, options: { type: Array, default: () => [] }, min: [String, Number], max: [String, Number],
  },
  emits: ["typed", "enter"],
  data() {
    return { text: this.value, wanted: "" };
  },
  computed: {
    offered() {
      const wanted = this.wanted.toLowerCase();
      return this.choices.filter((choice) => choice[1].toLowerCase().includes(wanted));
    },
  },
  watch: {
    value(value) {
      this.text = value;
    },
    // What is put into the field may be what it was given before somebody typed: then `value` does not change.
    turn() {
      this.text = this.value;
    },
  },
  methods: {
    tick(value, on) {
      this.set(this.choices.map((choice) => choice[0]).filter((one) => (one === value ? on : this.text.includes(one))));
    },
    set(value) {
      this.text = value;
      this.$emit("typed", value);
    },
  },
};
