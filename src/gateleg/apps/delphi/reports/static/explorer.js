"use strict";
// The interactive map. All texts are set with textContent: what participants wrote never becomes markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg";
  const byId = new Map(data.comments.map((comment) => [comment.id, comment]));
  const view = { layer: data.layer, paint: "topic", topic: "", words: "", chosen: null };
  const svg = document.querySelector("#plot svg");
  const points = document.createElementNS(NS, "g");
  const names = document.createElementNS(NS, "g");
  svg.append(points, names);
  const box = { x: 0, y: 0, w: 1000, h: 640 };
  const marks = new Map();

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") element.textContent = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };
  const percent = (part, whole) => `${Math.round((100 * part) / whole)} %`;
  const mix = (from, to, share) => {
    const hex = (text) => [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));
    const a = hex(from), b = hex(to), part = Math.min(1, Math.max(0, share));
    return `rgb(${a.map((value, place) => Math.round(value + (b[place] - value) * part)).join(",")})`;
  };
  const topicOf = (comment, layer = view.layer) => data.layers[layer]?.[comment.topics[layer] ?? -1] ?? null;

  const shapes = {
    circle: (s) => `M${-s} 0a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0`,
    square: (s) => `M${-s} ${-s}h${2 * s}v${2 * s}h${-2 * s}z`,
    triangle: (s) => `M0 ${-1.3 * s}L${1.2 * s} ${0.9 * s}L${-1.2 * s} ${0.9 * s}z`,
    diamond: (s) => `M0 ${-1.4 * s}L${1.4 * s} 0L0 ${1.4 * s}L${-1.4 * s} 0z`,
    cross: (s) => `M${-s} ${-0.4 * s}h${0.6 * s}v${-0.6 * s}h${0.8 * s}v${0.6 * s}h${0.6 * s}v${0.8 * s}h${-0.6 * s}v${0.6 * s}h${-0.8 * s}v${-0.6 * s}h${-0.6 * s}z`,
  };
  const colourOf = (comment) => {
    if (view.paint === "topic") return topicOf(comment)?.colour ?? data.grey;
    if (view.paint === "divides") {
      if (!comment.compared) return "none";
      const share = comment.divides / data.strongest;
      return share < 0.5 ? mix(data.shared, data.between, share * 2) : mix(data.between, data.divided, share * 2 - 1);
    }
    const votes = view.paint === "all" ? comment.all : comment.groups[Number(view.paint)];
    const cast = votes[0] + votes[1] + votes[2];
    if (cast < data.enough) return "none";
    const lean = (votes[0] - votes[1]) / cast;
    return lean >= 0 ? mix(data.between, data.agree, lean) : mix(data.between, data.disagree, -lean);
  };
  const matches = (comment) => {
    if (view.topic && topicOf(comment)?.key !== view.topic) return false;
    if (!view.words) return true;
    const text = comment.text.toLocaleLowerCase();
    return view.words.split(/\s+/).every((word) => text.includes(word));
  };

  const most = Math.max(1, ...data.comments.map((comment) => comment.all[0] + comment.all[1] + comment.all[2]));
  const draw = () => {
    const placed = data.comments.filter((comment) => comment.x !== null);
    for (const comment of placed) {
      const cast = comment.all[0] + comment.all[1] + comment.all[2];
      const mark = document.createElementNS(NS, "path");
      mark.classList.add("point");
      mark.setAttribute("transform", `translate(${500 + comment.x * 440} ${320 - comment.y * 290})`);
      mark.dataset.size = 4 + 6 * Math.sqrt(cast / most);
      mark.addEventListener("pointerenter", () => { if (view.chosen === null) show(comment); });
      mark.addEventListener("click", () => choose(comment.id));
      marks.set(comment.id, mark);
      points.append(mark);
    }
  };
  const paint = () => {
    for (const [id, mark] of marks) {
      const comment = byId.get(id), hue = colourOf(comment);
      const form = view.paint === "topic" ? topicOf(comment)?.shape ?? "circle" : "circle";
      mark.setAttribute("d", shapes[form](Number(mark.dataset.size)));
      mark.setAttribute("fill", hue === "none" ? "transparent" : hue);
      mark.style.stroke = hue === "none" ? data.grey : "";
      mark.classList.toggle("dim", !matches(comment));
      mark.classList.toggle("on", id === view.chosen);
    }
    label();
    legend();
    list();
  };
  const label = () => {
    names.replaceChildren();
    const scale = box.w / 1000, taken = [];
    for (const topic of data.layers[view.layer] ?? []) {
      if (view.topic && topic.key !== view.topic) continue;
      const x = 500 + topic.x * 440, half = topic.name.length * 3.6 * scale;
      for (let step = 0; step < 13; step += 1) {
        const y = 320 - topic.y * 290 + (step % 2 ? -1 : 1) * Math.ceil(step / 2) * 17 * scale;
        if (taken.some(([a, b, width]) => Math.abs(y - b) < 16 * scale && Math.abs(x - a) < half + width)) continue;
        taken.push([x, y, half]);
        const text = document.createElementNS(NS, "text");
        text.classList.add("name");
        text.setAttribute("x", x);
        text.setAttribute("y", y);
        text.style.fontSize = `${13 * scale}px`;
        text.style.strokeWidth = `${4 * scale}px`;
        text.textContent = topic.name;
        names.append(text);
        break;
      }
    }
  };

  const aside = document.querySelector("aside");
  const bars = (comment) => {
    const rows = [["Everyone", comment.all], ...data.groups.map((group, place) => [group.name, comment.groups[place]])];
    return make("div", { class: "votes" }, ...rows.flatMap(([who, votes]) => {
      const cast = votes[0] + votes[1] + votes[2];
      const hues = [data.agree, data.disagree, data.pass];
      const bar = make("div", { class: "bar", "aria-hidden": "true" }, ...(cast ? votes.map((count, place) => {
        const piece = make("i");
        piece.style.cssText = `width:${(100 * count) / cast}%;background:${hues[place]};opacity:${cast < data.enough ? 0.4 : 1}`;
        return piece;
      }) : []));
      const said = !cast ? "no votes" : cast < data.enough ? `${cast} votes: not enough` :
        `${percent(votes[0], cast)} agree, ${percent(votes[1], cast)} disagree, ${percent(votes[2], cast)} pass, ${cast} votes`;
      return [make("div", { text: who }), bar, make("div", { class: "figure", text: said })];
    }));
  };
  const show = (comment) => {
    const trail = data.layers.map((_, layer) => topicOf(comment, layer)?.name).filter(Boolean).reverse().join(" › ");
    aside.replaceChildren(
      make("h2", { text: `Comment ${comment.id}` }),
      make("blockquote", { text: comment.text, dir: "auto" }),
      bars(comment),
      make("p", { class: "note", text: trail, dir: "auto" }),
      make("button", { text: "Back to the list", onclick: () => choose(null) }),
    );
  };
  const list = () => {
    if (view.chosen !== null) return show(byId.get(view.chosen));
    const found = data.comments.filter(matches);
    const shown = found.slice(0, 200);
    aside.replaceChildren(
      make("h2", { text: `${found.length} of ${data.comments.length} comments` }),
      make("ol", {}, ...shown.map((comment) => make("li", {}, make("button", { text: comment.text, dir: "auto", onclick: () => choose(comment.id) })))),
      ...(found.length > shown.length ? [make("p", { class: "note", text: "Search, or choose a topic, to see the others." })] : []),
    );
  };
  const choose = (id) => {
    view.chosen = id;
    paint();
    if (id !== null) aside.querySelector("button").focus({ preventScroll: true });
  };

  const foot = document.querySelector("footer");
  const legend = () => {
    const swatch = (hue) => { const piece = make("i", { "aria-hidden": "true" }); piece.style.background = hue; return piece; };
    if (view.paint === "topic") {
      foot.replaceChildren(...(data.layers[view.layer] ?? []).map((topic) => make("button", {
        "aria-pressed": String(view.topic === topic.key),
        onclick: () => { view.topic = view.topic === topic.key ? "" : topic.key; view.chosen = null; paint(); },
      }, swatch(topic.colour), `${topic.name} (${topic.size})`)));
    } else if (view.paint === "divides") {
      foot.replaceChildren(make("span", {}, swatch(data.shared), "groups vote alike"), make("span", {}, swatch(data.divided), "groups differ"), make("span", { text: "empty: not enough votes" }));
    } else {
      foot.replaceChildren(make("span", {}, swatch(data.agree), "most agree"), make("span", {}, swatch(data.between), "divided"), make("span", {}, swatch(data.disagree), "most disagree"), make("span", { text: "empty: not enough votes" }));
    }
  };

  const frame = () => svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);
  const zoom = (factor, x = box.x + box.w / 2, y = box.y + box.h / 2) => {
    const width = Math.min(1600, Math.max(80, box.w * factor)), real = width / box.w;
    box.x = x - (x - box.x) * real; box.y = y - (y - box.y) * real; box.w = width; box.h *= real;
    frame(); label();
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    zoom(event.deltaY > 0 ? 1.15 : 0.87, spot.x, spot.y);
  }, { passive: false });
  let held = null;
  svg.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY }; });
  window.addEventListener("pointerup", () => { held = null; });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    const scale = svg.getScreenCTM().a;
    box.x -= (event.clientX - held.x) / scale; box.y -= (event.clientY - held.y) / scale;
    held = { x: event.clientX, y: event.clientY };
    frame();
  });
  // Arrow keys go to the nearest comment in that direction, + and - zoom, Escape goes back to the list.
  svg.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "+" || event.key === "=") zoom(0.8);
    else if (event.key === "-") zoom(1.25);
    else if (event.key === "Escape") choose(null);
    else if (way) {
      event.preventDefault();
      const open = data.comments.filter((comment) => comment.x !== null && matches(comment));
      const from = view.chosen === null ? { x: 0, y: 0, id: null } : byId.get(view.chosen);
      let best = null, least = Infinity;
      for (const comment of open) {
        const dx = comment.x - from.x, dy = comment.y - from.y, along = dx * way[0] + dy * way[1];
        const cost = Math.hypot(dx, dy) + 2 * Math.abs(dx * way[1] - dy * way[0]);
        if (comment.id !== from.id && along > 0 && cost < least) { best = comment; least = cost; }
      }
      if (best) { view.chosen = best.id; paint(); svg.setAttribute("aria-label", `Comment ${best.id}: ${best.text}`); }
    }
  });
  document.getElementById("words").addEventListener("input", (event) => { view.words = event.target.value.trim().toLocaleLowerCase(); view.chosen = null; paint(); });
  document.getElementById("layer").addEventListener("change", (event) => { view.layer = Number(event.target.value); view.topic = ""; view.chosen = null; paint(); });
  document.getElementById("paint").addEventListener("change", (event) => { view.paint = event.target.value; paint(); });
  document.getElementById("table").addEventListener("click", () => document.querySelector("dialog").showModal());
  document.getElementById("reset").addEventListener("click", () => { Object.assign(box, { x: 0, y: 0, w: 1000, h: 640 }); frame(); choose(null); });
  frame(); draw(); paint();
})();
