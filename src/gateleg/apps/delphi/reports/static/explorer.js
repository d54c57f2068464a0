// The linked maps of participants and comments, with a panel that says in words what is chosen.
// All texts are set with textContent: what participants wrote never becomes markup.
import { AGREE, DISAGREE, PASS, UNSEEN, leastShare, makeBallots } from "./ballots.js";
import { makePlot, outline } from "./plot.js";

const GROUP_FORMS = ["circle", "square", "triangle", "diamond", "cross"];
export const formOf = (look) => GROUP_FORMS[look % GROUP_FORMS.length];
const VOTE_WORDS = ["did not see it", "agree", "disagree", "pass"];
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
const people = (count) => `${count.toLocaleString("en")} ${count === 1 ? "person" : "people"}`;
const mix = (from, to, share) => {
  const hex = (text) => [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));
  // In steps, so that points share their colours and are drawn together.
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

// The participants by group, for `makePlot`: what is drawn, and the outline and middle of each group.
export const groupPicture = (data, ballots) => {
  const palette = [{ colour: data.grey, alpha: 0.45, size: 0.7 }, ...data.groups.map((group, place) => ({ colour: group.colour, form: formOf(group.look ?? place), alpha: ballots.size > 150 ? 0.7 : 0.85 }))];
  const rings = data.groups.map((group, place) => {
    const members = [];
    for (let one = 0; one < ballots.size; one += 1) if (ballots.groups[one] === place) members.push(one);
    return { ...(outline(ballots.xs, ballots.ys, members) ?? { ring: [], middle: null }), colour: group.colour, place };
  });
  return { palette, fill: Uint8Array.from(ballots.groups, (group) => group + 1), rings, size: ballots.size > 3000 ? 2.2 : ballots.size > 600 ? 3 : ballots.size > 150 ? 3.6 : 4.6 };
};

// Builds the maps in `root`. `options.start` has what is chosen at first, `options.remember` is told what is chosen.
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
  const panel = make("section", { class: "panel", "aria-label": "What is chosen", tabindex: "0" });
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
  const zooms = (plot, title) => [["+", "Zoom in", () => plot.map.zoom(1.4)], ["−", "Zoom out", () => plot.map.zoom(0.7)]].map(([text, name, onclick]) => make("button", { type: "button", class: "zoom", text, "aria-label": `${name}: ${title}`, onclick }));
  // Of very many people an even sample is drawn, and said to be one.
  const crowdTitle = data.people && data.people.drawn < data.people.count ? `People (${data.people.drawn.toLocaleString("en")} of ${data.people.count.toLocaleString("en")} drawn)` : "People";
  const makeMap = (given) => { const holder = make("div", { class: "plot" }); return { holder, map: makePlot(holder, given) }; };
  const crowd = makeMap({
    xs: ballots.xs, ys: ballots.ys, plain: ballots.size > 150,
    label: "Map of participants. Arrow keys go from one to the next, Enter chooses the people around, plus and minus zoom, Escape ends the choice.",
    hover: (one) => { crowd.holder.title = one < 0 ? "" : whois(one); },
    choose: (one, byKey) => (one < 0 ? choose({}) : byKey ? choose({ people: around(one) }) : ballots.groups[one] >= 0 ? choose({ group: ballots.groups[one] }) : choose({})),
    around: (found) => { toggleDrawing(false); choose({ people: found.length ? found : null }); },
    said: (one) => say(whois(one)),
  });
  const field = makeMap({
    xs: Float32Array.from(placed, (comment) => comment.x), ys: Float32Array.from(placed, (comment) => comment.y), stretch: 1.7,
    label: "Map of comments. Arrow keys go from comment to comment, Enter chooses, plus and minus zoom, Escape ends the choice.",
    hover: (one) => { field.holder.title = one < 0 ? "" : placed[one].text; },
    choose: (one) => choose({ comment: one < 0 ? null : placed[one].id }),
    said: (one) => say(`Comment ${placed[one].id}: ${placed[one].text}`),
  });
  const whois = (one) => {
    const group = ballots.groups[one], who = group < 0 ? "No group: too few votes" : data.groups[group].name;
    return view.comment === null ? who : `${who}: ${VOTE_WORDS[ballots.ofComment(view.comment)[one]]}`;
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
      return { x: ring.middle[0], y: top, above: true, lines: [`${group.name} · ${group.size.toLocaleString("en")}`, ...(asked || chosen || !group.motto ? [] : wrapped(group.motto))] };
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
      legends.people.replaceChildren(...data.groups.map((group, place) => make("button", { type: "button", "aria-pressed": String(view.group === place), onclick: () => choose({ group: view.group === place ? null : place }) }, swatch(group.colour, formOf(place)), `${group.name} (${group.size.toLocaleString("en")})`)), make("span", {}, swatch(data.grey), "too few votes"));
    } else {
      const counts = [0, 0, 0, 0];
      for (const one of asked) counts[one] += 1;
      const kinds = [[AGREE, data.agree, "circle", view.topic ? "mostly agree" : "agree"], [DISAGREE, data.disagree, "diamond", view.topic ? "mostly disagree" : "disagree"], [PASS, data.grey, "square", view.topic ? "pass, or both" : "pass"], [UNSEEN, data.grey, "hollow", "did not see it"]];
      legends.people.replaceChildren(...kinds.map(([kind, hue, form, word]) => make("span", {}, swatch(hue, form), `${word} (${counts[kind].toLocaleString("en")})`)));
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
      const ends = view.paint === "divides" ? [[data.shared, "groups vote alike"], [data.divided, "groups differ"]] : [[data.agree, "most agree"], [data.between, "divided"], [data.disagree, "most disagree"]];
      legends.comments.replaceChildren(...ends.map(([hue, word]) => make("span", {}, swatch(hue), word)), make("span", {}, swatch(data.grey, "hollow"), "not enough votes"));
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
    return make("tr", {}, make("th", { scope: "row" }, hue ? swatch(hue) : null, who), make("td", { class: "wide" }, bar(votes, whole ?? cast)), ...shares.map((text) => make("td", { class: "num", text })), make("td", { class: "num", text: whole === undefined ? "" : Math.max(0, whole - cast).toLocaleString("en") }));
  };
  const votesTable = (rows, last = "not seen") => make("table", { class: "votes" }, make("thead", {}, make("tr", {}, ...["Who", "", "agree", "disagree", "pass", last].map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...rows));
  const line = (comment, note) => make("li", {}, make("button", { type: "button", dir: "auto", onclick: () => choose({ comment: comment.id }) }, make("span", { text: comment.text }), note ? make("span", { class: "small-print", text: note }) : null));
  const list = (title, comments, note) => (comments.length ? [make("h4", { text: title }), make("ol", { class: "list" }, ...comments.map((comment) => line(comment, note?.(comment))))] : []);
  const back = () => make("button", { type: "button", class: "back", text: "Show everything", onclick: () => choose({}) });

  const tellComment = (comment) => {
    const trail = data.layers.map((_, layer) => topicOf(comment, layer)).filter(Boolean).reverse();
    return [
      make("h3", { text: `Comment ${comment.id}` }),
      make("blockquote", { text: comment.text, dir: "auto" }),
      votesTable([row("Everyone", comment.all, data.people?.count), ...data.groups.map((group, place) => row(group.name, comment.groups[place], group.size, group.colour))]),
      make("p", { class: "trail" }, ...trail.map((topic) => make("button", { type: "button", dir: "auto", text: topic.name, onclick: () => choose({ topic: topic.key }) }))),
      options.address ? make("p", {}, make("a", { href: options.address(comment.id), text: "The votes in full" })) : null,
    ];
  };
  const tellGroup = (place) => {
    const group = data.groups[place];
    const said = ([id, side]) => `${percent(byId.get(id).groups[place][side === "agree" ? 0 : 1], byId.get(id).groups[place].reduce((a, b) => a + b, 0))} ${side}`;
    const words = new Map(group.says);
    return [make("h3", {}, swatch(group.colour, formOf(place)), `${group.name}: ${people(group.size)}`), ...list("What sets it apart", group.says.map(([id]) => byId.get(id)), (comment) => said([comment.id, words.get(comment.id)])), make("p", { class: "small-print", text: "The map of comments shows what this group thinks of each." })];
  };
  const tellPeople = (chosen) => {
    const counts = data.groups.map((_, place) => chosen.filter((one) => ballots.groups[one] === place).length);
    const whole = (votes) => votes[0] + votes[1] + votes[2];
    const sure = (side) => data.comments.filter((comment) => whole(view.tally[comment.place]) >= data.enough)
      .map((comment) => [leastShare(view.tally[comment.place][side], whole(view.tally[comment.place])), comment]).filter(([least]) => least > 0.5).sort((a, b) => b[0] - a[0]).slice(0, 6).map(([, comment]) => comment);
    const note = (side, word) => (comment) => `${percent(view.tally[comment.place][side], whole(view.tally[comment.place]))} of ${whole(view.tally[comment.place])} ${word}`;
    const parts = data.groups.map((group, place) => (counts[place] ? `${counts[place].toLocaleString("en")} of ${group.name}` : "")).filter(Boolean).join(", ");
    const agreed = sure(0), refused = sure(1);
    return [make("h3", { text: people(chosen.length) }), make("p", { class: "small-print", text: parts || "None of them is in a group." }), ...list("What they agree on", agreed, note(0, "agree")), ...list("What they disagree with", refused, note(1, "disagree")), agreed.length + refused.length ? null : make("p", { text: "There is nothing that most of them clearly agree or disagree with." })];
  };
  const tellTopic = (topic) => {
    const own = data.comments.filter(matches), sum = (pick) => own.reduce((total, comment) => pick(comment).map((count, side) => count + total[side]), [0, 0, 0]);
    return [make("h3", { dir: "auto", text: topic.name }), make("p", { class: "small-print", dir: "auto", text: topic.words }), votesTable([row("Everyone", sum((comment) => comment.all)), ...data.groups.map((group, place) => row(group.name, sum((comment) => comment.groups[place]), undefined, group.colour))], ""), ...list(`${own.length} comments`, own.slice(0, LISTED))];
  };
  const tellAll = () => {
    const found = data.comments.filter(matches), shown = found.slice(0, LISTED);
    const groups = view.words ? [] : [make("h3", { text: "Groups" }), make("ol", { class: "list" }, ...data.groups.map((group, place) => make("li", {}, make("button", { type: "button", onclick: () => choose({ group: place }) }, make("span", {}, swatch(group.colour, formOf(place)), `${group.name}: ${people(group.size)}`), make("span", { class: "small-print", dir: "auto", text: group.motto })))))];
    return [...(data.groups.length ? groups : []), make("h3", { text: `${found.length} of ${data.comments.length} comments` }), make("ol", { class: "list" }, ...shown.map((comment) => line(comment))), found.length > shown.length ? make("p", { class: "small-print", text: "Search, or choose a topic, to see the others." }) : null];
  };
  const tell = () => {
    const told = view.comment !== null ? tellComment(byId.get(view.comment)) : view.people ? tellPeople(view.people) : view.group !== null ? tellGroup(view.group) : view.topic ? tellTopic(topics.get(view.topic)) : null;
    panel.replaceChildren(...(told ? [back(), ...told] : tellAll()).filter(Boolean));
    if (told) say(panel.querySelector("h3").textContent);
  };
  const paint = () => { paintPeople(); paintComments(); tell(); };

  const control = (name, node) => make("label", {}, name, node);
  const controls = {
    words: make("input", { type: "search", dir: "auto", oninput: (event) => choose({ words: event.target.value.trim().toLocaleLowerCase(), comment: null }) }),
    layer: make("select", { onchange: (event) => choose({ layer: Number(event.target.value), topic: "" }) }, ...data.layers.map((layer, number) => make("option", { value: number, text: data.layers.length === 1 ? `${layer.length} topics` : `${layer.length} topics (${number === data.layers.length - 1 ? "coarsest" : number ? "between" : "finest"})` })).reverse()),
    paint: make("select", { onchange: (event) => choose({ paint: event.target.value }) }, ...[["topic", "topic"], ["divides", "how much groups differ"], ["all", "what everyone thinks"], ...data.groups.map((group, place) => [String(place), `what ${group.name} thinks`]), ["people", "what the chosen people think"]].map(([value, text]) => make("option", { value, text, hidden: value === "people" }))),
  };
  const pencil = make("button", { type: "button", "aria-pressed": "false", text: "Choose people", title: "Draw a line around people on their map; or hold Shift and drag", onclick: () => toggleDrawing(pencil.getAttribute("aria-pressed") !== "true") });
  const toggleDrawing = (yes) => { pencil.setAttribute("aria-pressed", String(yes)); crowd.map.draws(yes); };
  const table = () => {
    const head = ["#", "Comment", "Agree", "Disagree", "Pass", "Topic"], rows = data.comments.map((comment) => [comment.id, comment.text, ...comment.all, topicOf(comment, data.layer)?.name ?? ""]);
    return make("table", { class: "all" }, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((text) => make("td", { dir: "auto", text }))))));
  };
  const dialog = make("dialog", { "aria-label": "All comments" });
  const openTable = () => { dialog.replaceChildren(make("form", { method: "dialog" }, make("button", { text: "Close" })), make("div", { class: "scroll", tabindex: "0" }, table())); dialog.showModal(); };
  const switches = make("div", { class: "switch", role: "group", "aria-label": "Which map" }, ...[["people", "People"], ["comments", "Comments"]].map(([name, text]) => make("button", { type: "button", text, "aria-pressed": String(name === "people"), onclick: (event) => {
    root.dataset.half = name;
    for (const one of switches.children) one.setAttribute("aria-pressed", String(one === event.target));
  } })));
  root.classList.add("explorer");
  root.classList.toggle("single", !ballots.size || !placed.length);
  root.dataset.half = ballots.size ? "people" : "comments";
  root.replaceChildren(make("div", { class: "layout" },
    make("div", { class: "tools" }, control("Search", controls.words), data.layers.length ? control("Topics", controls.layer) : null, placed.length ? control("Colour by", controls.paint) : null, ballots.size ? pencil : null, make("button", { type: "button", text: "Table", onclick: openTable }), make("button", { type: "button", text: "Reset", onclick: () => { controls.words.value = ""; crowd.map.reset(); field.map.reset(); view.words = ""; choose({}); } }), switches),
    make("div", { class: "maps" }, ballots.size ? half("people", crowdTitle, crowd) : null, placed.length ? half("comments", "Comments", field) : null), panel, status, dialog,
  ));
  const repaint = () => { crowd.map.redraw(); field.map.redraw(); };
  window.addEventListener("gateleg-theme", repaint);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", repaint);
  const start = options.start ?? {}, group = data.groups.findIndex((one) => one.letter === start.group);
  choose(byId.has(start.comment) ? { comment: start.comment } : group >= 0 ? { group } : topics.has(start.topic) ? { topic: start.topic } : {});
  return { choose, close() { window.removeEventListener("gateleg-theme", repaint); dark.removeEventListener("change", repaint); crowd.map.close(); field.map.close(); } };
};
