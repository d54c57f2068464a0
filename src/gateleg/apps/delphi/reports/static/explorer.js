// The linked maps of participants and comments, with a panel that describes the selection.
// All texts are set with textContent, so that text from participants never becomes markup.
import { AGREE, DISAGREE, PASS, UNSEEN, leastShare, makeBallots } from "./ballots.js";
import { makePlot, outline } from "./plot.js";
import { figure, t } from "./texts.js";

const GROUP_FORMS = ["circle", "square", "triangle", "diamond", "cross"];
export const formOf = (look) => GROUP_FORMS[look % GROUP_FORMS.length];
const voteWord = (vote) => [t("did not see it"), t("agree"), t("disagree"), t("pass")][vote];
export const nameOf = (group) => t("Group $1", group.letter);
const LISTED = 200;

export const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter(Boolean));
  return element;
};
const percent = (part, whole) => `${Math.round((100 * part) / whole)}%`;
const people = (count) => (count === 1 ? t("$1 person", figure(count)) : t("$1 people", figure(count)));
const mix = (from, to, share) => {
  const hex = (text) => [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));
  // In steps, so that many points have the same colour and are drawn together.
  const a = hex(from), b = hex(to), part = Math.round(Math.min(1, Math.max(0, share)) * 10) / 10;
  return `rgb(${a.map((value, place) => Math.round(value + (b[place] - value) * part)).join(",")})`;
};
const wrapped = (text, longest = 26) => {
  const lines = [];
  for (const word of text.split(" ")) {
    if (lines.length && `${lines[lines.length - 1]} ${word}`.length <= longest) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
};
export const swatch = (hue, form = "circle") => {
  const piece = make("i", { class: `swatch ${form}`, "aria-hidden": "true" });
  piece.style.setProperty("--hue", hue);
  return piece;
};

// The participants by group, for `makePlot`: palette, fill, and the outline and centre of each group.
export const groupPicture = (data, ballots) => {
  const palette = [{ colour: data.grey, alpha: 0.45, size: 0.7 }, ...data.groups.map((group, place) => ({ colour: group.colour, form: formOf(group.look ?? place), alpha: ballots.size > 150 ? 0.7 : 0.85 }))];
  const rings = data.groups.map((group, place) => {
    const members = [];
    for (let one = 0; one < ballots.size; one += 1) if (ballots.groups[one] === place) members.push(one);
    return { ...(outline(ballots.xs, ballots.ys, members) ?? { ring: [], middle: null }), colour: group.colour, place };
  });
  return { palette, fill: Uint8Array.from(ballots.groups, (group) => group + 1), rings, size: ballots.size > 3000 ? 2.2 : ballots.size > 600 ? 3 : ballots.size > 150 ? 3.6 : 4.6 };
};

// Builds the maps in `root`. `options.start` is the initial selection; `options.remember` is called when the selection changes.
export const explore = (root, data, options = {}) => {
  const ballots = makeBallots(data);
  const byId = new Map(data.comments.map((comment) => [comment.id, comment]));
  const placed = data.comments.filter((comment) => comment.x !== null);
  const topics = new Map(data.layers.flatMap((layer, number) => layer.map((topic) => [topic.key, { ...topic, layer: number }])));
  const picture = groupPicture(data, ballots);
  const view = { layer: data.layer, paint: "topic", topic: "", words: "", comment: null, group: null, people: null, tally: null };
  const topicOf = (comment, layer = view.layer) => data.layers[layer]?.[comment.topics[layer] ?? -1] ?? null;
  const votesOf = (comment) => (view.paint === "all" ? comment.all : view.paint === "people" ? view.tally[comment.place] : comment.groups[Number(view.paint)]);
  data.comments.forEach((comment, place) => { comment.place = place; });

  const status = make("p", { class: "sr", role: "status" });
  const panel = make("section", { class: "panel", "aria-label": t("Selection"), tabindex: "0" });
  const legends = { people: make("div", { class: "legend" }), comments: make("div", { class: "legend" }) };
  const say = (text) => { status.textContent = text; };

  const matches = (comment) => {
    if (view.topic && !comment.topics.some((_, layer) => topicOf(comment, layer)?.key === view.topic)) return false;
    if (!view.words) return true;
    const text = comment.text.toLocaleLowerCase();
    return view.words.split(/\s+/).every((word) => text.includes(word));
  };
  const choose = (change) => {
    const cleared = "words" in change || "layer" in change || "paint" in change ? {} : { comment: null, group: null, people: null, topic: "", paint: "topic" };
    Object.assign(view, cleared, change);
    if (view.people) Object.assign(view, { tally: ballots.tally(view.people), paint: "people" });
    else if (view.paint === "people") view.paint = "topic";
    if ("group" in change && change.group !== null) view.paint = String(change.group);
    if (view.topic) view.layer = topics.get(view.topic).layer;
    controls.layer.value = String(view.layer);
    controls.paint.value = view.paint;
    paint();
    panel.scrollTop = 0;
    options.remember?.({ comment: view.comment, group: view.group === null ? null : data.groups[view.group].letter, topic: view.topic || null });
  };

  const half = (name, title, plot) => make("figure", { class: `half ${name}` }, make("figcaption", {}, make("h3", { text: title }), ...zooms(plot, title)), plot.holder, legends[name]);
  const zooms = (plot, title) => [["+", t("Zoom in"), () => plot.map.zoom(1.4)], ["−", t("Zoom out"), () => plot.map.zoom(0.7)]].map(([text, name, onclick]) => make("button", { type: "button", class: "zoom", text, "aria-label": `${name}: ${title}`, onclick }));
  // If only a sample of people is drawn, the title says so.
  const crowdTitle = data.people && data.people.drawn < data.people.count ? t("People ($1 of $2 drawn)", figure(data.people.drawn), figure(data.people.count)) : t("People");
  const makeMap = (given) => { const holder = make("div", { class: "plot" }); return { holder, map: makePlot(holder, given) }; };
  const crowd = makeMap({
    xs: ballots.xs, ys: ballots.ys, plain: ballots.size > 150,
    label: t("Map of participants. Arrow keys move between people, Enter selects the people around, plus and minus zoom, Escape clears the selection."),
    hover: (one) => { crowd.holder.title = one < 0 ? "" : whois(one); },
    choose: (one, byKey) => (one < 0 ? choose({}) : byKey ? choose({ people: around(one) }) : ballots.groups[one] >= 0 ? choose({ group: ballots.groups[one] }) : choose({})),
    around: (found) => { toggleDrawing(false); choose({ people: found.length ? found : null }); },
    said: (one) => say(whois(one)),
  });
  const field = makeMap({
    xs: Float32Array.from(placed, (comment) => comment.x), ys: Float32Array.from(placed, (comment) => comment.y), stretch: 1.7,
    label: t("Map of comments. Arrow keys move between comments, Enter selects, plus and minus zoom, Escape clears the selection."),
    hover: (one) => { field.holder.title = one < 0 ? "" : placed[one].text; },
    choose: (one) => choose({ comment: one < 0 ? null : placed[one].id }),
    said: (one) => say(`${t("Comment $1", placed[one].id)}: ${placed[one].text}`),
  });
  const whois = (one) => {
    const group = ballots.groups[one], who = group < 0 ? t("No group: too few votes") : nameOf(data.groups[group]);
    return view.comment === null ? who : `${who}: ${voteWord(ballots.ofComment(view.comment)[one])}`;
  };
  const around = (one) => {
    const away = Float32Array.from(ballots.xs, (x, other) => Math.hypot(x - ballots.xs[one], ballots.ys[other] - ballots.ys[one]));
    return [...away.keys()].sort((a, b) => away[a] - away[b]).slice(0, Math.max(5, Math.round(ballots.size / 20)));
  };

  const paintPeople = () => {
    const asked = view.comment !== null ? ballots.ofComment(view.comment) : view.topic ? ballots.ofComments(data.comments.filter(matches).map((comment) => comment.id)) : null;
    const chosen = view.people && new Set(view.people);
    const outlines = picture.rings.filter((ring) => ring.ring.length).map((ring) => ({ ...ring, on: view.group === ring.place, dim: view.group !== null && view.group !== ring.place }));
    const labels = picture.rings.filter((ring) => ring.middle).map((ring) => {
      const group = data.groups[ring.place];
      const top = Math.max(...ring.ring.map((one) => ballots.ys[one]));
      return { x: ring.middle[0], y: top, above: true, lines: [`${nameOf(group)} · ${figure(group.size)}`, ...(asked || chosen || !group.motto ? [] : wrapped(group.motto))] };
    });
    let { palette, fill } = picture;
    if (asked) {
      palette = [{ colour: data.grey, hollow: true, alpha: ballots.size > 1500 ? 0.2 : 0.55, size: 0.8 }, { colour: data.agree }, { colour: data.disagree, form: "diamond" }, { colour: data.grey, form: "square", alpha: 0.9 }];
      fill = asked;
    } else if (chosen || view.group !== null) {
      const kinds = picture.palette.length;
      palette = [...picture.palette, ...picture.palette.map((kind) => ({ ...kind, alpha: 0.13, dim: true }))];
      fill = Uint8Array.from(picture.fill, (kind, one) => ((chosen ? chosen.has(one) : ballots.groups[one] === view.group) ? kind : kind + kinds));
    }
    crowd.map.show({ fill, palette, size: picture.size, outlines, labels });
    crowd.map.canvas.dataset.lit = fill.reduce((count, kind) => count + (palette[kind].dim || palette[kind].hollow ? 0 : 1), 0);
    if (!asked) {
      legends.people.replaceChildren(...data.groups.map((group, place) => make("button", { type: "button", "aria-pressed": String(view.group === place), onclick: () => choose({ group: view.group === place ? null : place }) }, swatch(group.colour, formOf(place)), `${nameOf(group)} (${figure(group.size)})`)), make("span", {}, swatch(data.grey), t("too few votes")));
    } else {
      const counts = [0, 0, 0, 0];
      for (const one of asked) counts[one] += 1;
      const kinds = [[AGREE, data.agree, "circle", view.topic ? t("mostly agree") : t("agree")], [DISAGREE, data.disagree, "diamond", view.topic ? t("mostly disagree") : t("disagree")], [PASS, data.grey, "square", view.topic ? t("pass, or both") : t("pass")], [UNSEEN, data.grey, "hollow", t("did not see it")]];
      legends.people.replaceChildren(...kinds.map(([kind, hue, form, word]) => make("span", {}, swatch(hue, form), `${word} (${figure(counts[kind])})`)));
    }
  };

  const colourOf = (comment) => {
    if (view.paint === "divides") {
      const share = comment.divides / data.strongest;
      return !comment.compared ? null : share < 0.5 ? mix(data.shared, data.between, share * 2) : mix(data.between, data.divided, share * 2 - 1);
    }
    const [agrees, disagrees, passes] = votesOf(comment), cast = agrees + disagrees + passes;
    if (cast < data.enough) return null;
    const lean = (agrees - disagrees) / cast;
    return lean >= 0 ? mix(data.between, data.agree, lean) : mix(data.between, data.disagree, -lean);
  };
  const most = Math.max(1, ...data.comments.map((comment) => comment.all[0] + comment.all[1] + comment.all[2]));
  const sizes = Float32Array.from(placed, (comment) => 3.6 + 4.4 * Math.sqrt((comment.all[0] + comment.all[1] + comment.all[2]) / most));
  const paintComments = () => {
    const palette = [], known = new Map(), fill = new Uint16Array(placed.length);
    placed.forEach((comment, one) => {
      const topic = view.paint === "topic" ? topicOf(comment) : null, hue = view.paint === "topic" ? topic?.colour ?? data.grey : colourOf(comment);
      const dim = !matches(comment), form = topic?.shape ?? "circle", key = `${hue}${form}${dim}`;
      if (!known.has(key)) { known.set(key, palette.length); palette.push({ colour: hue ?? data.grey, hollow: hue === null, form, dim, alpha: dim ? 0.12 : 0.9 }); }
      fill[one] = known.get(key);
    });
    const labels = (data.layers[view.layer] ?? []).filter((topic) => !view.topic || topic.key === view.topic).map((topic) => ({ x: topic.x, y: topic.y, lines: wrapped(topic.name, 22) }));
    field.map.show({ fill, palette: palette.length ? palette : [{ colour: data.grey }], size: sizes, labels });
    field.map.mark(view.comment === null ? -1 : placed.findIndex((comment) => comment.id === view.comment));
    field.map.canvas.dataset.lit = placed.filter(matches).length;
    if (view.paint === "topic") {
      legends.comments.replaceChildren(...(data.layers[view.layer] ?? []).map((topic) => make("button", { type: "button", dir: "auto", "aria-pressed": String(view.topic === topic.key), onclick: () => choose({ topic: view.topic === topic.key ? "" : topic.key }) }, swatch(topic.colour, topic.shape), `${topic.name} (${topic.size})`)));
    } else {
      const ends = view.paint === "divides" ? [[data.shared, t("groups vote alike")], [data.divided, t("groups differ")]] : [[data.agree, t("most agree")], [data.between, t("divided")], [data.disagree, t("most disagree")]];
      legends.comments.replaceChildren(...ends.map(([hue, word]) => make("span", {}, swatch(hue), word)), make("span", {}, swatch(data.grey, "hollow"), t("not enough votes")));
    }
  };

  const bar = (votes, whole) => {
    const piece = make("div", { class: "bar", "aria-hidden": "true" });
    const cast = votes[0] + votes[1] + votes[2];
    [data.agree, data.disagree, data.pass].forEach((hue, place) => {
      const part = make("i");
      part.style.cssText = `width:${whole && cast >= data.enough ? (100 * votes[place]) / whole : 0}%;background:${hue}`;
      piece.append(part);
    });
    return piece;
  };
  const row = (who, votes, whole, hue) => {
    const cast = votes[0] + votes[1] + votes[2];
    const shares = cast < data.enough ? [String(votes[0]), String(votes[1]), String(votes[2])] : votes.map((count) => percent(count, cast));
    return make("tr", {}, make("th", { scope: "row" }, hue ? swatch(hue) : null, who), make("td", { class: "wide" }, bar(votes, whole ?? cast)), ...shares.map((text) => make("td", { class: "num", text })), make("td", { class: "num", text: whole === undefined ? "" : figure(Math.max(0, whole - cast)) }));
  };
  const votesTable = (rows, last = t("not seen")) => make("table", { class: "votes" }, make("thead", {}, make("tr", {}, ...[t("Who"), "", t("agree"), t("disagree"), t("pass"), last].map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...rows));
  const line = (comment, note) => make("li", {}, make("button", { type: "button", dir: "auto", onclick: () => choose({ comment: comment.id }) }, make("span", { text: comment.text }), note ? make("span", { class: "small-print", text: note }) : null));
  const list = (title, comments, note) => (comments.length ? [make("h4", { text: title }), make("ol", { class: "list" }, ...comments.map((comment) => line(comment, note?.(comment))))] : []);
  const back = () => make("button", { type: "button", class: "back", text: t("Show everything"), onclick: () => choose({}) });

  const tellComment = (comment) => {
    const trail = data.layers.map((_, layer) => topicOf(comment, layer)).filter(Boolean).reverse();
    return [
      make("h3", { text: t("Comment $1", comment.id) }),
      make("blockquote", { text: comment.text, dir: "auto" }),
      votesTable([row(t("Everyone"), comment.all, data.people?.count), ...data.groups.map((group, place) => row(nameOf(group), comment.groups[place], group.size, group.colour))]),
      make("p", { class: "trail" }, ...trail.map((topic) => make("button", { type: "button", dir: "auto", text: topic.name, onclick: () => choose({ topic: topic.key }) }))),
      options.address ? make("p", {}, make("a", { href: options.address(comment.id), text: t("The votes in full") })) : null,
    ];
  };
  const tellGroup = (place) => {
    const group = data.groups[place];
    const said = ([id, side]) => `${percent(byId.get(id).groups[place][side === "agree" ? 0 : 1], byId.get(id).groups[place].reduce((a, b) => a + b, 0))} ${side === "agree" ? t("agree") : t("disagree")}`;
    const words = new Map(group.says);
    return [make("h3", {}, swatch(group.colour, formOf(place)), `${nameOf(group)}: ${people(group.size)}`), ...list(t("What sets it apart"), group.says.map(([id]) => byId.get(id)), (comment) => said([comment.id, words.get(comment.id)])), make("p", { class: "small-print", text: t("The map of comments shows what this group thinks of each.") })];
  };
  const tellPeople = (chosen) => {
    const counts = data.groups.map((_, place) => chosen.filter((one) => ballots.groups[one] === place).length);
    const whole = (votes) => votes[0] + votes[1] + votes[2];
    const sure = (side) => data.comments.filter((comment) => whole(view.tally[comment.place]) >= data.enough)
      .map((comment) => [leastShare(view.tally[comment.place][side], whole(view.tally[comment.place])), comment]).filter(([least]) => least > 0.5).sort((a, b) => b[0] - a[0]).slice(0, 6).map(([, comment]) => comment);
    const shareOf = (comment, side) => [percent(view.tally[comment.place][side], whole(view.tally[comment.place])), figure(whole(view.tally[comment.place]))];
    const note = (side) => (comment) => (side ? t("$1 of $2 disagree", ...shareOf(comment, side)) : t("$1 of $2 agree", ...shareOf(comment, side)));
    const parts = data.groups.map((group, place) => (counts[place] ? t("$1 of $2", figure(counts[place]), nameOf(group)) : "")).filter(Boolean).join(", ");
    const agreed = sure(0), refused = sure(1);
    return [make("h3", { text: people(chosen.length) }), make("p", { class: "small-print", text: parts || t("None of them is in a group.") }), ...list(t("What they agree on"), agreed, note(0)), ...list(t("What they disagree with"), refused, note(1)), agreed.length + refused.length ? null : make("p", { text: t("There is nothing that most of them clearly agree or disagree with.") })];
  };
  const tellTopic = (topic) => {
    const own = data.comments.filter(matches), sum = (pick) => own.reduce((total, comment) => pick(comment).map((count, side) => count + total[side]), [0, 0, 0]);
    return [make("h3", { dir: "auto", text: topic.name }), make("p", { class: "small-print", dir: "auto", text: topic.words }), votesTable([row(t("Everyone"), sum((comment) => comment.all)), ...data.groups.map((group, place) => row(nameOf(group), sum((comment) => comment.groups[place]), undefined, group.colour))], ""), ...list(t("$1 comments", figure(own.length)), own.slice(0, LISTED))];
  };
  const tellAll = () => {
    const found = data.comments.filter(matches), shown = found.slice(0, LISTED);
    const groups = view.words ? [] : [make("h3", { text: t("Groups") }), make("ol", { class: "list" }, ...data.groups.map((group, place) => make("li", {}, make("button", { type: "button", onclick: () => choose({ group: place }) }, make("span", {}, swatch(group.colour, formOf(place)), `${nameOf(group)}: ${people(group.size)}`), make("span", { class: "small-print", dir: "auto", text: group.motto })))))];
    return [...(data.groups.length ? groups : []), make("h3", { text: t("$1 of $2 comments", figure(found.length), figure(data.comments.length)) }), make("ol", { class: "list" }, ...shown.map((comment) => line(comment))), found.length > shown.length ? make("p", { class: "small-print", text: t("Search, or choose a topic, to see the others.") }) : null];
  };
  const tell = () => {
    const told = view.comment !== null ? tellComment(byId.get(view.comment)) : view.people ? tellPeople(view.people) : view.group !== null ? tellGroup(view.group) : view.topic ? tellTopic(topics.get(view.topic)) : null;
    panel.replaceChildren(...(told ? [back(), ...told] : tellAll()).filter(Boolean));
    if (told) say(panel.querySelector("h3").textContent);
  };
  const paint = () => { paintPeople(); paintComments(); tell(); };

  const layerTitle = (count, number) => {
    if (data.layers.length === 1) return t("$1 topics", figure(count));
    return number === data.layers.length - 1 ? t("$1 topics (coarsest)", figure(count)) : number ? t("$1 topics (between)", figure(count)) : t("$1 topics (finest)", figure(count));
  };
  const control = (name, node) => make("label", {}, name, node);
  const controls = {
    words: make("input", { type: "search", dir: "auto", oninput: (event) => choose({ words: event.target.value.trim().toLocaleLowerCase(), comment: null }) }),
    layer: make("select", { onchange: (event) => choose({ layer: Number(event.target.value), topic: "" }) }, ...data.layers.map((layer, number) => make("option", { value: number, text: layerTitle(layer.length, number) })).reverse()),
    paint: make("select", { onchange: (event) => choose({ paint: event.target.value }) }, ...[["topic", t("topic")], ["divides", t("how much groups differ")], ["all", t("what everyone thinks")], ...data.groups.map((group, place) => [String(place), t("what Group $1 thinks", group.letter)]), ["people", t("what the chosen people think")]].map(([value, text]) => make("option", { value, text, hidden: value === "people" }))),
  };
  const pencil = make("button", { type: "button", "aria-pressed": "false", text: t("Choose people"), title: t("Draw a line around people on their map; or hold Shift and drag"), onclick: () => toggleDrawing(pencil.getAttribute("aria-pressed") !== "true") });
  const toggleDrawing = (yes) => { pencil.setAttribute("aria-pressed", String(yes)); crowd.map.draws(yes); };
  const table = () => {
    const head = ["#", t("Comment"), t("Agree"), t("Disagree"), t("Pass"), t("Topic")], rows = data.comments.map((comment) => [comment.id, comment.text, ...comment.all, topicOf(comment, data.layer)?.name ?? ""]);
    return make("table", { class: "all" }, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((text) => make("td", { dir: "auto", text }))))));
  };
  const dialog = make("dialog", { "aria-label": t("All comments") });
  const openTable = () => { dialog.replaceChildren(make("form", { method: "dialog" }, make("button", { text: t("Close") })), make("div", { class: "scroll", tabindex: "0" }, table())); dialog.showModal(); };
  const switches = make("div", { class: "switch", role: "group", "aria-label": t("Which map") }, ...[["people", t("People")], ["comments", t("Comments")]].map(([name, text]) => make("button", { type: "button", text, "aria-pressed": String(name === "people"), onclick: (event) => {
    root.dataset.half = name;
    for (const one of switches.children) one.setAttribute("aria-pressed", String(one === event.target));
  } })));
  root.classList.add("explorer");
  root.classList.toggle("single", !ballots.size || !placed.length);
  root.dataset.half = ballots.size ? "people" : "comments";
  root.replaceChildren(make("div", { class: "layout" },
    make("div", { class: "tools" }, control(t("Search"), controls.words), data.layers.length ? control(t("Topics"), controls.layer) : null, placed.length ? control(t("Colour by"), controls.paint) : null, ballots.size ? pencil : null, make("button", { type: "button", text: t("Table"), onclick: openTable }), make("button", { type: "button", text: t("Reset"), onclick: () => { controls.words.value = ""; crowd.map.reset(); field.map.reset(); view.words = ""; choose({}); } }), switches),
    make("div", { class: "maps" }, ballots.size ? half("people", crowdTitle, crowd) : null, placed.length ? half("comments", t("Comments"), field) : null), panel, status, dialog,
  ));
  const repaint = () => { crowd.map.redraw(); field.map.redraw(); };
  window.addEventListener("gateleg-theme", repaint);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", repaint);
  const start = options.start ?? {}, group = data.groups.findIndex((one) => one.letter === start.group);
  choose(byId.has(start.comment) ? { comment: start.comment } : group >= 0 ? { group } : topics.has(start.topic) ? { topic: start.topic } : {});
  return { choose, close() { window.removeEventListener("gateleg-theme", repaint); dark.removeEventListener("change", repaint); crowd.map.close(); field.map.close(); } };
};
