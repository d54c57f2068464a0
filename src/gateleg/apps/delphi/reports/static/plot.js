// A scatter plot on a canvas: pan and zoom, find points by pointer or arrow keys, select one point or draw a line around several.
export const FORMS = {
  circle: (path, x, y, s) => { path.moveTo(x + s, y); path.arc(x, y, s, 0, 6.2832); },
  square: (path, x, y, s) => path.rect(x - s * 0.9, y - s * 0.9, s * 1.8, s * 1.8),
  triangle: (path, x, y, s) => { path.moveTo(x, y - 1.3 * s); path.lineTo(x + 1.2 * s, y + 0.9 * s); path.lineTo(x - 1.2 * s, y + 0.9 * s); path.closePath(); },
  diamond: (path, x, y, s) => { path.moveTo(x, y - 1.35 * s); path.lineTo(x + 1.35 * s, y); path.lineTo(x, y + 1.35 * s); path.lineTo(x - 1.35 * s, y); path.closePath(); },
  cross: (path, x, y, s) => { path.rect(x - s, y - 0.4 * s, 2 * s, 0.8 * s); path.rect(x - 0.4 * s, y - s, 0.8 * s, 2 * s); },
};
const MARGIN = 36;

// The convex hull of the nine tenths of the points that are nearest to their centre.
export const outline = (xs, ys, members) => {
  if (members.length < 3) return null;
  let mx = 0, my = 0;
  for (const one of members) { mx += xs[one]; my += ys[one]; }
  mx /= members.length; my /= members.length;
  const near = [...members].sort((a, b) => Math.hypot(xs[a] - mx, ys[a] - my) - Math.hypot(xs[b] - mx, ys[b] - my));
  const kept = near.slice(0, Math.max(3, Math.ceil(near.length * 0.9))).sort((a, b) => xs[a] - xs[b] || ys[a] - ys[b]);
  const turn = (o, a, b) => (xs[a] - xs[o]) * (ys[b] - ys[o]) - (ys[a] - ys[o]) * (xs[b] - xs[o]);
  const half = (order) => {
    const found = [];
    for (const one of order) {
      while (found.length > 1 && turn(found[found.length - 2], found[found.length - 1], one) <= 0) found.pop();
      found.push(one);
    }
    return found.slice(0, -1);
  };
  return { middle: [mx, my], ring: [...half(kept), ...half(kept.reverse())] };
};

// `given` has xs and ys from -1 to 1, the maximum stretch of one axis, and the callbacks hover, choose, around and said.
export const makePlot = (holder, given) => {
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", given.label);
  holder.append(canvas);
  const pen = canvas.getContext("2d");
  const { xs, ys } = given;
  const view = { k: 1, x: 0, y: 0 };
  let shown = { fill: new Uint8Array(xs.length), palette: [{ colour: "#888" }], size: 4, outlines: [], labels: [] };
  let marked = -1, wide = 0, high = 0, frame = 0, lasso = null, drawing = false;

  const bounds = (() => {
    let left = Infinity, right = -Infinity, low = Infinity, top = -Infinity;
    for (let one = 0; one < xs.length; one += 1) {
      left = Math.min(left, xs[one]); right = Math.max(right, xs[one]); low = Math.min(low, ys[one]); top = Math.max(top, ys[one]);
    }
    return xs.length ? { x: (left + right) / 2, y: (low + top) / 2, w: Math.max(right - left, 1e-6), h: Math.max(top - low, 1e-6) } : { x: 0, y: 0, w: 1, h: 1 };
  })();
  const scale = () => {
    const across = (wide - 2 * MARGIN) / bounds.w, up = (high - 2 * MARGIN) / bounds.h, least = Math.min(across, up), most = least * (given.stretch ?? 1);
    return [Math.min(across, most), Math.min(up, most)];
  };
  const place = (x, y, [sx, sy] = scale()) => [wide / 2 + ((x - bounds.x) * sx + view.x) * view.k, high / 2 - ((y - bounds.y) * sy + view.y) * view.k];
  const sizeOf = (one) => (typeof shown.size === "number" ? shown.size : shown.size[one]) * Math.min(2.2, Math.sqrt(view.k));

  const style = (name) => getComputedStyle(canvas).getPropertyValue(name).trim() || "#888";
  const outlined = (ink) => {
    for (const one of shown.outlines) {
      pen.beginPath();
      one.ring.forEach((point, step) => { const [x, y] = place(xs[point], ys[point]); if (step) pen.lineTo(x, y); else pen.moveTo(x, y); });
      pen.closePath();
      pen.lineJoin = "round";
      pen.globalAlpha = one.dim ? 0.25 : 1;
      pen.lineWidth = one.on ? 3 : 1.5;
      pen.strokeStyle = one.on ? ink : one.colour;
      pen.stroke();
      pen.globalAlpha = one.dim ? 0.02 : 0.07;
      pen.fillStyle = one.colour;
      pen.fill();
      pen.globalAlpha = 1;
    }
  };
  // Draws a point of each kind once, to be copied for all points of this kind.
  const stamp = (kind, paper) => {
    const size = shown.size * Math.min(2.2, Math.sqrt(view.k)) * (kind.size ?? 1), side = Math.ceil(size * 3) + 2, ratio = window.devicePixelRatio || 1;
    const sheet = document.createElement("canvas"), path = new Path2D(), ink = sheet.getContext("2d");
    sheet.width = sheet.height = side * ratio;
    ink.scale(ratio, ratio);
    FORMS[kind.form ?? "circle"](path, side / 2, side / 2, size);
    ink.lineWidth = kind.hollow ? 1.2 : 0.7;
    ink.strokeStyle = kind.hollow ? kind.colour : paper;
    ink.fillStyle = kind.colour;
    if (!kind.hollow) ink.fill(path);
    if (kind.hollow || !given.plain) ink.stroke(path);
    return { sheet, side };
  };
  const stamped = (paper) => {
    const scales = scale(), stamps = shown.palette.map((kind) => stamp(kind, paper));
    shown.palette.forEach((kind, number) => {
      pen.globalAlpha = kind.alpha ?? 0.85;
      const { sheet, side } = stamps[number];
      for (let one = 0; one < xs.length; one += 1) {
        if (shown.fill[one] !== number) continue;
        const [x, y] = place(xs[one], ys[one], scales);
        if (x > -20 && y > -20 && x < wide + 20 && y < high + 20) pen.drawImage(sheet, x - side / 2, y - side / 2, side, side);
      }
    });
    pen.globalAlpha = 1;
  };
  const dots = (paper) => {
    if (typeof shown.size === "number" && xs.length > 500) return stamped(paper);
    const scales = scale(), paths = shown.palette.map(() => new Path2D());
    for (let one = 0; one < xs.length; one += 1) {
      const kind = shown.fill[one], [x, y] = place(xs[one], ys[one], scales);
      if (x < -20 || y < -20 || x > wide + 20 || y > high + 20) continue;
      FORMS[shown.palette[kind].form ?? "circle"](paths[kind], x, y, sizeOf(one) * (shown.palette[kind].size ?? 1));
    }
    shown.palette.forEach((kind, number) => {
      pen.globalAlpha = kind.alpha ?? 0.85;
      pen.lineWidth = kind.hollow ? 1.2 : 0.7;
      pen.strokeStyle = kind.hollow ? kind.colour : paper;
      if (!kind.hollow) { pen.fillStyle = kind.colour; pen.fill(paths[number]); }
      if (kind.hollow || !given.plain) pen.stroke(paths[number]);
    });
    pen.globalAlpha = 1;
  };
  const labelled = (ink, paper) => {
    const taken = [], family = getComputedStyle(canvas).fontFamily;
    pen.textAlign = "center";
    pen.lineJoin = "round";
    const put = (label, lines) => {
      const [x0, at] = place(label.x, label.y), y0 = label.above ? at - lines.length * 8 - 8 : at;
      pen.font = `600 13px ${family}`;
      const half = Math.max(...lines.map((text) => pen.measureText(text).width)) / 2 + 4, tall = lines.length * 16;
      if (x0 < -half || x0 > wide + half || y0 < -tall || y0 > high + tall) return true;
      const x = Math.max(half, Math.min(wide - half, x0));
      for (let step = 0; step < 9; step += 1) {
        const y = Math.max(tall / 2 + 2, Math.min(high - tall / 2 - 4, y0 + (step % 2 ? -1 : 1) * Math.ceil(step / 2) * 14));
        if (taken.some(([a, b, h, t]) => Math.abs(y - b) < (tall + t) / 2 && Math.abs(x - a) < half + h)) continue;
        taken.push([x, y, half, tall]);
        lines.forEach((text, number) => {
          const small = number && label.above;
          pen.font = `${small ? 400 : 600} ${small ? 12 : 13}px ${family}`;
          const base = y - tall / 2 + 12 + number * 16;
          pen.lineWidth = 4; pen.strokeStyle = paper; pen.strokeText(text, x, base);
          pen.fillStyle = ink; pen.fillText(text, x, base);
        });
        return true;
      }
      return false;
    };
    // If a label does not fit, try its first line alone.
    for (const label of shown.labels) if (!put(label, label.lines) && label.above) put(label, label.lines.slice(0, 1));
  };
  const draw = () => {
    frame = 0;
    const ink = style("--ink"), paper = style("--paper");
    pen.clearRect(0, 0, wide, high);
    outlined(ink);
    dots(paper);
    if (marked >= 0) {
      const [x, y] = place(xs[marked], ys[marked]);
      pen.beginPath(); pen.arc(x, y, sizeOf(marked) + 5, 0, 6.2832);
      pen.lineWidth = 3; pen.strokeStyle = ink; pen.stroke();
    }
    labelled(ink, paper);
    if (lasso) {
      pen.beginPath();
      lasso.forEach(([x, y], step) => (step ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.lineWidth = 2; pen.setLineDash([5, 4]); pen.strokeStyle = ink; pen.stroke(); pen.setLineDash([]);
    }
  };
  const redraw = () => { if (!frame) frame = requestAnimationFrame(draw); };
  const resize = () => {
    const box = holder.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    wide = Math.max(1, box.width); high = Math.max(1, box.height);
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(high * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    redraw();
  };

  const spot = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const nearest = (x, y) => {
    let best = -1, least = 14;
    const scales = scale();
    for (let one = 0; one < xs.length; one += 1) {
      const [px, py] = place(xs[one], ys[one], scales), away = Math.hypot(px - x, py - y) - sizeOf(one);
      if (away < least) { least = away; best = one; }
    }
    return best;
  };
  const zoom = (factor, x = wide / 2, y = high / 2) => {
    const k = Math.min(40, Math.max(0.5, view.k * factor)), real = k / view.k;
    view.x -= ((x - wide / 2) / view.k) * (1 - 1 / real); view.y += ((y - high / 2) / view.k) * (1 - 1 / real);
    view.k = k;
    redraw();
  };
  const inside = (line) => {
    const found = [], scales = scale();
    for (let one = 0; one < xs.length; one += 1) {
      const [x, y] = place(xs[one], ys[one], scales);
      let within = false;
      for (let a = 0, b = line.length - 1; a < line.length; b = a, a += 1) {
        const [ax, ay] = line[a], [bx, by] = line[b];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
      }
      if (within) found.push(one);
    }
    return found;
  };

  const held = new Map();
  let moved = 0;
  canvas.addEventListener("wheel", (event) => {
    // A scrollable page keeps scrolling unless the map has the focus or Ctrl is pressed.
    const still = document.scrollingElement.scrollHeight <= window.innerHeight + 1;
    if (!still && !event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 0.87 : 1.15, ...spot(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, spot(event));
    moved = 0;
    if (given.around && (drawing || event.shiftKey) && held.size === 1) lasso = [spot(event)];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = spot(event), before = held.get(event.pointerId);
    if (!before) { given.hover?.(nearest(...here)); return; }
    moved += Math.hypot(here[0] - before[0], here[1] - before[1]);
    if (lasso) lasso.push(here);
    else if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1], apart = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]);
      zoom(apart(here) / Math.max(1, apart(before)), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
    } else { view.x += (here[0] - before[0]) / view.k; view.y -= (here[1] - before[1]) / view.k; }
    held.set(event.pointerId, here);
    redraw();
  });
  const released = (event) => {
    if (!held.delete(event.pointerId)) return;
    if (lasso) {
      const line = lasso;
      lasso = null;
      if (line.length > 3 && moved > 12) given.around(inside(line));
      redraw();
    } else if (event.type === "pointerup" && moved < 6) given.choose?.(nearest(...spot(event)));
  };
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("pointerleave", () => given.hover?.(-1));
  // Arrow keys move to the nearest point in that direction, + and - zoom, Enter selects, Escape clears the selection.
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "Escape") given.choose?.(-1);
    else if ((event.key === "Enter" || event.key === " ") && marked >= 0) { event.preventDefault(); given.choose?.(marked, true); }
    else if (way) {
      event.preventDefault();
      const [fx, fy] = marked < 0 ? [bounds.x, bounds.y] : [xs[marked], ys[marked]];
      let best = -1, least = Infinity;
      for (let one = 0; one < xs.length; one += 1) {
        if (one === marked || shown.palette[shown.fill[one]].dim) continue;
        const dx = xs[one] - fx, dy = ys[one] - fy, along = dx * way[0] + dy * way[1];
        const cost = Math.hypot(dx, dy) + 2 * Math.abs(dx * way[1] - dy * way[0]);
        if (along > 0 && cost < least) { best = one; least = cost; }
      }
      if (best >= 0) { marked = best; redraw(); given.said?.(best); }
    }
  });
  const watcher = new ResizeObserver(resize);
  watcher.observe(holder);
  return {
    canvas,
    redraw,
    zoom,
    place,
    show(next) { shown = { outlines: [], labels: [], size: 4, ...next }; redraw(); },
    mark(one) { if (marked !== one) { marked = one; redraw(); } },
    draws(yes) { drawing = yes; canvas.classList.toggle("drawing", yes); },
    reset() { Object.assign(view, { k: 1, x: 0, y: 0 }); redraw(); },
    close() { watcher.disconnect(); cancelAnimationFrame(frame); },
  };
};
