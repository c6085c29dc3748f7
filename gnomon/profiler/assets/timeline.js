// What ran when: a lane per thread and kind, which zooms to a nanosecond. Slices narrower than a
// pixel are skipped over by binary search, so a redraw costs the width of the screen.

const timeline = (() => {
  const canvas = byId("timeline");
  const pen = canvas.getContext("2d");
  const LEFT = 74, RULER = 20, LANE = 19, GAP = 3, MEMORY = 42;
  const end = (n) => events.start[n] + events.took[n];
  const lanes = lanesOf();
  const height = RULER + lanes.length * (LANE + GAP) + (memory.peak ? MEMORY + GAP : 0) + 4;
  let whole = [0, 1];
  for (let n = 0; n < events.count; n++) whole[1] = Math.max(whole[1], end(n));
  let [from, until] = whole;
  // first the steps are looked at, or whatever ran; what compiled them stands before
  const ran = lanes.filter((lane) => lane.name === "steps" || lane.order[0] === 4).map((lane) => lane.list[0]);
  if (ran.length) from = Math.min(...ran.map((n) => events.start[n]));
  let width = 0;
  let faint = false;
  let hits = lanes.map(() => []);

  function lanesOf() {
    const found = new Map();
    const kernelLanes = ["kernel", "comm", "copy"];
    for (let n = 0; n < events.count; n++) {
      const kind = events.kind(n);
      const works = kernelLanes.includes(kind);
      const name = works ? raw.threads[events.thread[n]] ?? `thread ${events.thread[n]}` : { step: "steps", span: "spans", forced: "looked at" }[kind] ?? kind;
      for (let depth = 0; ; depth++) {
        const key = depth ? `${name}\u0000${depth}` : name;
        if (!found.has(key)) found.set(key, { name: depth ? "" : name, order: [works ? 4 : ["step", "compile", "span", "forced"].indexOf(kind), works ? events.thread[n] : 0, depth], list: [] });
        const { list } = found.get(key);
        if (list.length && end(list[list.length - 1]) > events.start[n] && depth < 7) continue;
        list.push(n);
        break;
      }
    }
    const order = (a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1] || a.order[2] - b.order[2];
    return [...found.values()].sort(order);
  }

  // the first of a lane that ends after a moment
  function firstAfter(list, moment, low = 0) {
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end(list[middle]) > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  const record = (n) => (events.record[n] >= 0 ? records[events.record[n]] : null);
  const colourOf = (n) => {
    const kind = events.kind(n);
    return colour(kind === "kernel" ? record(n)?.phase ?? "kernel" : kind);
  };
  const x = (moment) => LEFT + ((moment - from) / (until - from)) * (width - LEFT - 8);
  const moment = (px) => from + ((px - LEFT) / (width - LEFT - 8)) * (until - from);

  function draw() {
    const ratio = devicePixelRatio || 1;
    width = canvas.clientWidth;
    if (!width) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.style.height = `${height}px`;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    ruler();
    lanes.forEach((lane, n) => drawLane(lane, n));
    if (memory.peak) drawMemory(RULER + lanes.length * (LANE + GAP));
    byId("window").textContent = `${time(until - from)} of ${time(whole[1])}`;
  }

  function ruler() {
    const step = nice((until - from) / Math.max(2, (width - LEFT) / 110));
    pen.strokeStyle = colour("--rule");
    pen.fillStyle = colour("--quiet");
    pen.textAlign = "center";
    for (let at = Math.ceil(from / step) * step; at <= until; at += step) {
      const px = Math.round(x(at)) + 0.5;
      pen.beginPath();
      pen.moveTo(px, RULER - 4);
      pen.lineTo(px, height);
      pen.stroke();
      pen.fillText(at ? time(at) : "0", px, RULER / 2);
    }
    pen.textAlign = "left";
  }

  function nice(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((n) => n * power >= rough);
  }

  function drawLane({ name, list }, n) {
    const top = RULER + n * (LANE + GAP);
    pen.fillStyle = colour("--quiet");
    pen.fillText(name, 10, top + LANE / 2, LEFT - 16);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, top, width - LEFT - 8, LANE);
    pen.clip();
    pen.globalAlpha = faint && name !== "steps" && name !== "spans" ? 0.22 : 1;
    for (let i = firstAfter(list, from); i < list.length && events.start[list[i]] < until; ) {
      const right = slice(list[i], top, 0.75);
      i = firstAfter(list, moment(Math.max(right, Math.floor(right) + 0.5)), i + 1);
    }
    pen.globalAlpha = 1;
    const bright = hits[n];
    for (let i = firstAfter(bright, from); i < bright.length && events.start[bright[i]] < until; ) {
      const right = slice(bright[i], top, 2);
      i = firstAfter(bright, moment(right), i + 1);
    }
    pen.restore();
  }

  function slice(n, top, least) {
    const left = x(events.start[n]);
    const right = Math.max(left + least, x(end(n)) - (x(end(n)) - left > 3 ? 0.6 : 0));
    const kind = events.kind(n);
    const frame = kind === "step" || kind === "span";
    pen.fillStyle = frame ? colour("--soft") : colourOf(n);
    pen.fillRect(left, top, right - left, LANE);
    if (right - left > 34) {
      const begin = Math.max(left, LEFT) + 4;
      const letters = Math.floor((Math.min(right, width) - begin - 4) / 6.2);
      pen.fillStyle = frame ? colour("--ink") : colour("--on-accent");
      if (letters > 3) {
        const text = events.name(n);
        pen.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, begin, top + LANE / 2 + 0.5);
      }
    }
    return right;
  }

  function drawMemory(top) {
    pen.fillStyle = colour("--quiet");
    pen.fillText("memory", 10, top + 10, LEFT - 16);
    pen.fillText(size(memory.peak), 10, top + 24, LEFT - 16);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, top, width - LEFT - 8, MEMORY);
    pen.clip();
    const y = (n) => top + MEMORY - 1 - (n / memory.peak) * (MEMORY - 4);
    pen.beginPath();
    pen.moveTo(x(0), y(0));
    let last = 0;
    memory.times.forEach((at, n) => {
      pen.lineTo(x(at), y(last));
      last = memory.live[n];
      pen.lineTo(x(at), y(last));
    });
    pen.lineTo(x(whole[1]), y(last));
    pen.lineTo(x(whole[1]), y(0));
    pen.fillStyle = colour("forward");
    pen.globalAlpha = 0.3;
    pen.fill();
    pen.restore();
  }

  // moving about

  function look(begin, stop) {
    const least = Math.min(200, whole[1]);
    const span = Math.max(least, Math.min(stop - begin, whole[1] * 1.04));
    const middle = (begin + stop) / 2;
    from = Math.max(-0.02 * whole[1], Math.min(middle - span / 2, whole[1] * 1.02 - span));
    until = from + span;
    later();
  }
  let waiting = null;
  function later() {
    waiting ??= requestAnimationFrame(() => { waiting = null; draw(); });
  }
  function zoom(factor, at = (from + until) / 2) {
    look(at - (at - from) * factor, at + (until - at) * factor);
  }
  function pan(part) {
    const by = part * (until - from);
    look(from + by, until + by);
  }
  function fit() { look(0, whole[1]); }
  let stepAt = -1;
  function nextStep() {
    const list = lanes.find((lane) => lane.name === "steps")?.list ?? [];
    if (!list.length) return fit();
    stepAt = (stepAt + 1) % list.length;
    const n = list[stepAt];
    look(events.start[n] - 0.02 * events.took[n], end(n) + 0.02 * events.took[n]);
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const n = Math.floor((py - RULER) / (LANE + GAP));
    if (px < LEFT || n < 0 || n >= lanes.length) return null;
    const { list } = lanes[n];
    const reach = (2.5 * (until - from)) / (width - LEFT);
    const i = firstAfter(list, moment(px) - reach);
    return i < list.length && events.start[list[i]] <= moment(px) + reach ? list[i] : null;
  }

  function about(n) {
    const of = record(n);
    const line = of?.parts[0]?.line ?? events.lines(n)[0];
    const begin = events.start[n];
    const facts = [element("b", {}, events.name(n)), element("div", {}, `${time(events.took[n])} at ${time(begin)}, ${raw.threads[events.thread[n]] ?? `thread ${events.thread[n]}`}`)];
    if (line) facts.push(element("div", {}, `${place(line)}${line.module ? ` in ${line.module}` : ""}, ${line.phase}`));
    if (line && said(line)) facts.push(element("div", { class: "mono quiet" }, said(line)));
    for (const [name, value] of Object.entries(events.args(n))) facts.push(element("div", { class: "quiet" }, `${name}: ${value}`));
    return facts;
  }

  const fingers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    moved = 0;
    canvas.classList.add("moving");
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return hover(event);
    const before = [...fingers.values()];
    const old = fingers.get(event.pointerId);
    fingers.set(event.pointerId, event.clientX);
    const now = [...fingers.values()];
    moved += Math.abs(event.clientX - old);
    const box = canvas.getBoundingClientRect();
    if (now.length === 2) {
      const factor = Math.abs(before[0] - before[1]) / Math.max(8, Math.abs(now[0] - now[1]));
      zoom(factor, moment((now[0] + now[1]) / 2 - box.left));
    } else if (now.length === 1 && moved > 3) {
      const by = ((old - event.clientX) / (width - LEFT - 8)) * (until - from);
      look(from + by, until + by);
      tip();
    }
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => {
    const single = fingers.size === 1;
    fingers.delete(event.pointerId);
    canvas.classList.remove("moving");
    if (name === "pointerup" && single && moved <= 3) pick(under(event));
  });
  canvas.addEventListener("pointerleave", () => tip());
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
      if (event.shiftKey) return;
      event.preventDefault();
      zoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300)), moment(event.clientX - canvas.getBoundingClientRect().left));
    } else {
      event.preventDefault();
      pan(event.deltaX / width);
    }
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    const n = under(event);
    if (n === null) return fit();
    look(events.start[n] - 0.1 * events.took[n], end(n) + 0.1 * events.took[n]);
  });

  function hover(event) {
    const n = under(event);
    canvas.style.cursor = n === null ? "" : "pointer";
    tip(n === null ? null : about(n), event);
  }
  function pick(n) {
    if (n === null) return select({});
    if (record(n)) return select({ record: record(n), source: "timeline" });
    const line = events.lines(n)[0];
    if (line) return select({ key: line.key, source: "timeline" });
    look(events.start[n] - 0.05 * events.took[n], end(n) + 0.05 * events.took[n]);
  }

  function mark(wanted) {
    faint = wanted !== null;
    hits = lanes.map(({ list }) => (faint ? list.filter(wanted) : []));
    later();
  }
  const ofSelection = () => (selection.record || selection.keys.size
    ? (n) => (events.record[n] >= 0 ? selection.records.has(records[events.record[n]]) : events.lines(n).some((l) => selection.keys.has(l.key)))
    : null);
  watchers.push(() => mark(ofSelection()));
  new ResizeObserver(later).observe(canvas);
  document.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    ({ in: () => zoom(0.5), out: () => zoom(2), fit, step: nextStep })[button.dataset.zoom]();
  }));

  return { draw: later, zoom, pan, fit, nextStep, mark, ofSelection, window: () => [from, until] };
})();

// the one tooltip
function tip(facts = null, event = null) {
  const box = byId("tip");
  box.hidden = !facts;
  if (!facts) return;
  box.replaceChildren(...facts);
  const { offsetWidth, offsetHeight } = box;
  const left = Math.min(event.clientX + 14, innerWidth - offsetWidth - 8);
  const below = event.clientY + 18 + offsetHeight < innerHeight;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${below ? event.clientY + 18 : Math.max(4, event.clientY - offsetHeight - 12)}px`;
}
