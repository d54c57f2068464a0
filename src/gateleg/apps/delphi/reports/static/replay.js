// Animates how the groups formed: people move from moment to moment as they vote. Space plays and pauses, arrow keys step.
// With reduced motion, moments follow each other without animation.
import { shorts, signed } from "./ballots.js";
import { FORMS, outline } from "./plot.js";
import { formOf, make, nameOf, swatch } from "./explorer.js";
import { figure, language, t } from "./texts.js";

const STEP = 700, STILL_STEP = 1400, EDGE = 30;

export const replay = (root, data) => {
  const moments = data.moments.map((one) => ({ ...one, xs: shorts(one.x), ys: shorts(one.y), groups: signed(one.in) }));
  const last = moments.length - 1, size = data.drawn;
  const still = matchMedia("(prefers-reduced-motion: reduce)"), dark = matchMedia("(prefers-color-scheme: dark)");
  const xs = new Float32Array(size), ys = new Float32Array(size);
  let at = last, playing = false, before = 0, frame = 0, wide = 1, high = 1;

  const canvas = make("canvas", { "aria-hidden": "true" }), pen = canvas.getContext("2d");
  const date = make("p", { class: "date" });
  const stage = make("div", { class: "stage" }, canvas, date);
  const button = make("button", { type: "button", onclick: () => play(!playing) });
  const slider = make("input", { type: "range", min: "0", max: String(last), step: "1", "aria-label": t("Moment"), oninput: () => { play(false); go(Number(slider.value)); say(); } });
  const told = make("p", { class: "told" }), status = make("p", { class: "sr", role: "status" });
  const legend = make("ul", { class: "legend" });

  // In the date format of the language; data of earlier versions has only the English text.
  const dated = (one) => (language() === "en" || one.at === undefined ? one.when : new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }).format(one.at));
  const sentence = (one) => {
    const parts = data.groups.map((group, place) => t("Group $1 has $2", group.letter, figure(one.sizes[place]))).join(", ");
    const groups = one.chance ? t("No groups yet: shuffled votes differ as strongly.") : data.groups.length > 1 ? `${parts}.` : t("There is one group.");
    return `${dated(one)} (UTC): ${t("$1 of $2 votes.", figure(one.votes), figure(data.votes))} ${t("$1 people had voted on $2 comments, $3 often enough to be compared.", figure(one.participants), figure(one.comments), figure(one.compared))} ${groups}`;
  };
  const say = () => { status.textContent = told.textContent; };
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim() || "#888";
  // Both axes have the same scale, so that distances are comparable in all directions.
  const bounds = [Infinity, -Infinity, Infinity, -Infinity];
  for (const one of moments) {
    for (let person = 0; person < size; person += 1) {
      if (one.groups[person] === data.absent) continue;
      bounds[0] = Math.min(bounds[0], one.xs[person]); bounds[1] = Math.max(bounds[1], one.xs[person]);
      bounds[2] = Math.min(bounds[2], one.ys[person]); bounds[3] = Math.max(bounds[3], one.ys[person]);
    }
  }
  const scale = () => Math.min((wide - 2 * EDGE) / Math.max(1, bounds[1] - bounds[0]), (high - 2 * EDGE) / Math.max(1, bounds[3] - bounds[2]));
  const dot = size > 1500 ? 2.2 : size > 500 ? 3 : 4;

  const draw = () => {
    frame = 0;
    const whole = Math.floor(at), part = still.matches ? 0 : at - whole, one = moments[whole], next = moments[Math.min(last, whole + 1)];
    const near = part < 0.5 ? one : next, ink = style("--ink"), paper = style("--paper");
    const kinds = data.groups.map(() => []), rest = [], zoom = scale(), middle = [(bounds[0] + bounds[1]) / 2, (bounds[2] + bounds[3]) / 2];
    for (let person = 0; person < size; person += 1) {
      const here = one.groups[person] !== data.absent, there = next.groups[person] !== data.absent;
      if (!here && !(there && part >= 0.5)) continue;
      xs[person] = here && there ? one.xs[person] + (next.xs[person] - one.xs[person]) * part : here ? one.xs[person] : next.xs[person];
      ys[person] = here && there ? one.ys[person] + (next.ys[person] - one.ys[person]) * part : here ? one.ys[person] : next.ys[person];
      xs[person] = wide / 2 + (xs[person] - middle[0]) * zoom;
      ys[person] = high / 2 - (ys[person] - middle[1]) * zoom;
      (kinds[near.groups[person]] ?? rest).push(person);
    }
    pen.clearRect(0, 0, wide, high);
    const rings = kinds.map((members) => outline(xs, ys, members));
    rings.forEach((ring, place) => {
      if (!ring) return;
      pen.beginPath();
      ring.ring.forEach((person, step) => (step ? pen.lineTo(xs[person], ys[person]) : pen.moveTo(xs[person], ys[person])));
      pen.closePath();
      pen.lineJoin = "round"; pen.lineWidth = 1.5; pen.strokeStyle = data.groups[place].colour; pen.stroke();
      pen.globalAlpha = 0.08; pen.fillStyle = data.groups[place].colour; pen.fill(); pen.globalAlpha = 1;
    });
    const points = (members, hue, form, scale, alpha) => {
      const path = new Path2D();
      for (const person of members) FORMS[form](path, xs[person], ys[person], dot * scale);
      pen.globalAlpha = alpha; pen.fillStyle = hue; pen.fill(path); pen.globalAlpha = 1;
    };
    points(rest, data.grey, "circle", 0.7, 0.5);
    kinds.forEach((members, place) => points(members, data.groups[place].colour, formOf(place), 1, 0.8));
    pen.font = `600 14px ${getComputedStyle(root).fontFamily}`;
    pen.textAlign = "center"; pen.lineJoin = "round"; pen.lineWidth = 4; pen.strokeStyle = paper; pen.fillStyle = ink;
    rings.forEach((ring, place) => {
      if (!ring) return;
      const text = nameOf(data.groups[place]), x = Math.min(wide - 40, Math.max(40, ring.middle[0]));
      pen.strokeText(text, x, ring.middle[1]); pen.fillText(text, x, ring.middle[1]);
    });
    canvas.dataset.drawn = String(rest.length + kinds.reduce((sum, members) => sum + members.length, 0));
  };
  const redraw = () => { if (!frame) frame = requestAnimationFrame(draw); };
  const tell = () => {
    const one = moments[Math.round(at)];
    date.textContent = dated(one);
    told.textContent = sentence(one);
    slider.value = String(Math.round(at));
    slider.setAttribute("aria-valuetext", sentence(one));
    root.dataset.moment = String(Math.round(at));
    const people = data.groups.map((group, place) => make("li", {}, swatch(group.colour, formOf(place)), `${nameOf(group)}: ${figure(one.sizes[place])}`));
    const others = one.participants - one.sizes.reduce((sum, part) => sum + part, 0);
    legend.replaceChildren(...people, make("li", {}, swatch(data.grey), t("without a group: $1", figure(others))));
  };
  const go = (moment) => {
    const shown = Math.round(at);
    at = Math.max(0, Math.min(last, moment));
    if (Math.round(at) !== shown) tell();
    redraw();
  };
  const tick = (now) => {
    if (!playing) return;
    const gone = (now - before) / (still.matches ? STILL_STEP : STEP);
    // With reduced motion, wait until a whole step has passed.
    const step = still.matches ? Math.floor(gone) : gone;
    if (step > 0) { before = still.matches ? before + step * STILL_STEP : now; go(at + step); }
    if (at >= last) play(false);
    else requestAnimationFrame(tick);
  };
  const play = (yes) => {
    if (yes === playing) return;
    playing = yes;
    button.textContent = yes ? t("Pause") : t("Play");
    root.dataset.playing = String(yes);
    if (!yes) { go(Math.round(at)); tell(); say(); return; }
    if (at >= last) go(0);
    before = performance.now();
    requestAnimationFrame(tick);
  };
  const resize = () => {
    const box = stage.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    wide = Math.max(1, box.width); high = Math.max(1, box.height);
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(high * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    redraw();
  };
  root.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target === button) return;
    event.preventDefault();
    play(!playing);
  });
  root.classList.add("replay");
  button.textContent = t("Play");
  const sample = data.drawn < data.count ? make("p", { class: "note", text: t("$1 of $2 people are drawn.", figure(data.drawn), figure(data.count)) }) : null;
  root.replaceChildren(stage, make("div", { class: "steer" }, button, make("label", {}, slider)), legend, told, ...(sample ? [sample] : []), status);
  const watcher = new ResizeObserver(resize);
  watcher.observe(stage);
  for (const query of [dark, still]) query.addEventListener("change", redraw);
  window.addEventListener("gateleg-theme", redraw);
  tell();
  return { play, go, close() { playing = false; watcher.disconnect(); cancelAnimationFrame(frame); for (const query of [dark, still]) query.removeEventListener("change", redraw); window.removeEventListener("gateleg-theme", redraw); } };
};
