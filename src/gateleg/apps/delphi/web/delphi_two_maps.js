// The participants of two runs side by side. A participant selected with the pointer or the arrow keys is marked on both maps.
import { formOf, groupPicture, make, swatch } from "delphi-maps/explorer.js";
import { makeBallots } from "delphi-maps/ballots.js";
import { makePlot } from "delphi-maps/plot.js";

export default {
  template: `
    <div class="delphi">
      <p v-if="wrong" class="note failed" role="alert">{{ wrong }}</p>
      <div class="explorer two-maps"><div class="maps">
        <figure v-for="(title, side) in titles" :key="side" class="half"><figcaption><h3>{{ title }}</h3></figcaption><div class="plot" ref="plots"></div><div class="legend" ref="legends"></div></figure>
      </div></div>
      <p class="meta" role="status">{{ said }}</p>
    </div>`,
  props: { sources: Array, titles: Array, looks: Array },
  data: () => ({ wrong: "", said: "Point at somebody on one map to see them on the other." }),
  async mounted() {
    try {
      const loaded = await Promise.all(this.sources.map(async (source) => {
        const answer = await fetch((window.path_prefix || "") + source);
        const data = await answer.json();
        if (!answer.ok) throw new Error(data.error?.message ?? "The host sent an unexpected answer.");
        return data;
      }));
      this.sides = Object.freeze(loaded.map((data, side) => this.draw(data, side)));
      this.repaint = () => this.sides.forEach((one) => one.map.redraw());
      window.addEventListener("gateleg-theme", this.repaint);
    } catch (error) {
      this.wrong = `The maps cannot be shown: ${error.message}`;
    }
  },
  beforeUnmount() {
    if (this.repaint) window.removeEventListener("gateleg-theme", this.repaint);
    this.sides?.forEach((one) => one.map.close());
  },
  methods: {
    draw(data, side) {
      data.groups.forEach((group, place) => { group.look = this.looks[side][place]; group.colour = data.colours[group.look % data.colours.length]; });
      const ballots = makeBallots(data), picture = groupPicture(data, ballots);
      const point = (one) => this.point(side, one);
      const label = `Participants on the ${side ? "right" : "left"}. Arrow keys move between people.`;
      const map = makePlot(this.$refs.plots[side], { xs: ballots.xs, ys: ballots.ys, plain: ballots.size > 150, label, hover: point, choose: point, said: point });
      const labels = picture.rings.filter((ring) => ring.middle).map((ring) => ({ x: ring.middle[0], y: Math.max(...ring.ring.map((one) => ballots.ys[one])), above: true, lines: [`${data.groups[ring.place].name} · ${data.groups[ring.place].size}`] }));
      map.show({ ...picture, outlines: picture.rings.filter((ring) => ring.ring.length), labels });
      const placeOf = new Map(Array.from(ballots.ids, (id, place) => [id, place]));
      this.$refs.legends[side].replaceChildren(...data.groups.map((group) => make("span", { dir: "auto" }, swatch(group.colour, formOf(group.look)), `${group.name} (${group.size}) ${group.motto}`)));
      return { data, ballots, map, placeOf };
    },
    point(side, one) {
      const id = one < 0 ? null : this.sides[side].ballots.ids[one];
      const words = this.sides.map(({ data, ballots, map, placeOf }, number) => {
        const place = id === null ? -1 : placeOf.get(id) ?? -1;
        map.mark(place);
        map.canvas.dataset.marked = place;
        const where = number ? "on the right" : "on the left";
        return place < 0 ? `not ${where}` : `${ballots.groups[place] < 0 ? "no group" : data.groups[ballots.groups[place]].name} ${where}`;
      });
      this.said = id === null ? "Point at somebody on one map to see them on the other." : `Participant ${id}: ${words.join(", ")}.`;
    },
  },
};
