// Drawings: what the machine can do beside what kernels did, and memory over time.

const SVG = "http://www.w3.org/2000/svg";
function shape(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

// draws again whenever its place changes size
function drawing(host, label, draw) {
  const svg = shape("svg", { role: "img", "aria-label": label });
  host.append(svg);
  const again = () => {
    const { clientWidth: width, clientHeight: height } = svg;
    if (!width || !height) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    draw(svg, width, height);
  };
  new ResizeObserver(again).observe(svg);
  return again;
}

const MOST_DOTS = 800;

// call sites of one code and one line are one dot
function dots() {
  const found = new Map();
  for (const record of records) {
    if (!record.time || !record.flops || !record.nbytes) continue;
    const key = `${record.symbol} ${record.parts[0]?.line.key ?? ""} ${record.phase}`;
    const dot = found.get(key) ?? { record, flops: 0, nbytes: 0, time: 0, least: 0, all: [] };
    dot.flops += record.calls * record.flops;
    dot.nbytes += record.calls * record.nbytes;
    dot.time += record.time;
    dot.least += record.least;
    dot.all.push(record);
    found.set(key, dot);
  }
  return [...found.values()].sort((a, b) => b.time - a.time).slice(0, MOST_DOTS);
}

function roofline(host) {
  const all = dots();
  const { flops, bandwidth } = machine;
  if (!all.length || !flops || !bandwidth) {
    host.append(element("p", { class: "empty" }, "No kernel has both flops and bytes, or the machine was not measured."));
    return;
  }
  const [left, right, top, bottom] = [58, 14, 12, 34];
  // the axes hold what takes time; the rest stands at their edges
  const large = all.filter((d) => d.time > 1e-3 * all[0].time);
  const intensities = large.map((d) => d.flops / d.nbytes);
  const speeds = large.map((d) => d.flops / d.time);
  const ridge = flops / bandwidth;
  const low = (list) => 10 ** Math.floor(Math.log10(Math.min(...list)));
  const high = (list) => 10 ** Math.ceil(Math.log10(Math.max(...list)));
  const [x0, x1] = [low([...intensities, ridge / 10]), high([...intensities, ridge * 10])];
  const [y0, y1] = [low([...speeds, flops / 1e11]), high([...speeds, flops / 1e9])];
  const longest = all[0].time;
  host.append(element("p", { class: "quiet" }, `${machine.name}: ${count(flops)}flop/s, ${size(bandwidth)}/s. A dot is a kernel, its area the time in it; the upper roofs are those of caches, for what fits them.`));
  const circles = new Map();
  drawing(host, "Speed of kernels beside what the machine can do", (svg, width, height) => {
    const x = (v) => left + (Math.log(v / x0) / Math.log(x1 / x0)) * (width - left - right);
    const y = (v) => height - bottom - (Math.log(v / y0) / Math.log(y1 / y0)) * (height - top - bottom);
    axes(svg, width, height, x, y);
    for (const speed of [bandwidth, ...machine.caches.map(([, of]) => of)]) {
      const begin = Math.min(Math.max(x0, y0 / (speed / 1e9)), flops / speed);
      svg.append(shape("path", { class: "roof", d: `M${x(begin)} ${y((begin * speed) / 1e9)} L${x(flops / speed)} ${y(flops / 1e9)} L${x(x1)} ${y(flops / 1e9)}` }));
    }
    circles.clear();
    all.forEach((dot) => {
      const r = 3 + 17 * Math.sqrt(dot.time / longest);
      const circle = shape("circle", { cx: x(Math.max(x0, Math.min(x1, dot.flops / dot.nbytes))), cy: y(Math.max(y0, dot.flops / dot.time)), r });
      circle.style.fill = `var(--${["forward", "backward", "optimizer", "comm"].includes(dot.record.phase) ? dot.record.phase : "copy"})`;
      circle.addEventListener("click", () => select({ record: dot.record, records: dot.all, source: "roofline" }));
      circle.addEventListener("pointermove", (event) => tip(facts(dot), event));
      circle.addEventListener("pointerleave", () => tip());
      circles.set(dot, circle);
      svg.append(circle);
    });
    marks();
  });
  const marks = () => circles.forEach((circle, dot) => circle.classList.toggle("hit", dot.all.some((r) => selection.records.has(r))));
  watchers.push(marks);

  function facts(dot) {
    const { gbytes, gflops: speed, roofline: part } = speeds_(dot);
    return [
      element("b", {}, dot.record.name),
      element("div", {}, `${three(speed)} GFLOP/s, ${three(gbytes)} GB/s, ${share(part)} of the roof`),
      element("div", {}, `${time(dot.time / steps)} a step, ${dot.all.length} call${dot.all.length > 1 ? "s" : ""}`),
      element("div", {}, dot.record.parts.length ? place(dot.record.parts[0].line) : ""),
    ];
  }
  function speeds_(dot) {
    return { gbytes: dot.nbytes / dot.time, gflops: dot.flops / dot.time, roofline: dot.least / dot.time };
  }
  function axes(svg, width, height, x, y) {
    for (let v = x0; v <= x1 * 1.01; v *= 10) {
      svg.append(shape("line", { class: "grid", x1: x(v), x2: x(v), y1: top, y2: height - bottom }));
      svg.append(shape("text", { x: x(v), y: height - bottom + 15, "text-anchor": "middle" }, plain(v)));
    }
    for (let v = y0; v <= y1 * 1.01; v *= 10) {
      svg.append(shape("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }));
      svg.append(shape("text", { x: left - 7, y: y(v) + 4, "text-anchor": "end" }, plain(v)));
    }
    svg.append(shape("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "flop per byte"));
    const turned = shape("text", { transform: `translate(12 ${(height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "GFLOP/s");
    svg.append(turned);
  }
}

const plain = (v) => (v >= 1 ? v.toLocaleString("en") : String(Number(v.toPrecision(1))));

function memoryChart(host) {
  if (!memory.peak) {
    host.append(element("p", { class: "empty" }, "No allocation was recorded."));
    return;
  }
  const [left, right, top, bottom] = [64, 14, 16, 26];
  const first = memory.times[0];
  const last = Math.max(memory.times.at(-1), first + 1);
  drawing(host, "Bytes alive over time", (svg, width, height) => {
    const x = (t) => left + ((t - first) / (last - first)) * (width - left - right);
    const y = (n) => height - bottom - (n / memory.peak) * (height - top - bottom);
    for (let n = 0; n <= 4; n++) {
      const v = (memory.peak * n) / 4;
      svg.append(shape("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }));
      svg.append(shape("text", { x: left - 7, y: y(v) + 4, "text-anchor": "end" }, size(v)));
    }
    const ticks = Math.max(2, Math.floor(width / 140));
    for (let n = 0; n <= ticks; n++) {
      svg.append(shape("text", { x: x(first + ((last - first) * n) / ticks), y: height - 8, "text-anchor": n === ticks ? "end" : "middle" }, time(first + ((last - first) * n) / ticks)));
    }
    let path = `M${x(first)} ${y(0)}`;
    memory.times.forEach((t, n) => { path += `H${x(t).toFixed(1)}V${y(memory.live[n]).toFixed(1)}`; });
    svg.append(shape("path", { class: "area", d: `${path}V${y(0)}Z` }));
    svg.append(shape("line", { class: "peak", x1: x(memory.at), x2: x(memory.at), y1: top, y2: height - bottom }));
    const beyond = x(memory.at) > width / 2;
    svg.append(shape("text", { x: x(memory.at) + (beyond ? -6 : 6), y: top + 2, "text-anchor": beyond ? "end" : "start" }, `peak ${size(memory.peak)}`));
  });
}
