// The views below the timeline: each is built when it is first looked at.

const views = [];
function view(name, title, counted, build) {
  views.push({ name, title, counted, build });
}
let shown = null;
function show(name) {
  const chosen = views.find((v) => v.name === name) ?? views[0];
  if (!chosen.host) {
    chosen.host = element("section", { class: "view", role: "tabpanel", id: `view-${chosen.name}`, "aria-labelledby": `tab-${chosen.name}` });
    byId("views").append(chosen.host);
    chosen.build(chosen.host);
  }
  for (const v of views) {
    if (v.host) v.host.hidden = v !== chosen;
    v.tab.setAttribute("aria-selected", v === chosen);
    v.tab.tabIndex = v === chosen ? 0 : -1;
  }
  shown = chosen;
  for (const watcher of watchers) watcher();
}
function tabs() {
  for (const v of views) {
    v.tab = element("button", { type: "button", role: "tab", id: `tab-${v.name}`, "aria-controls": `view-${v.name}`, onclick: () => show(v.name) },
      v.title, v.counted === null ? null : element("small", {}, v.counted.toLocaleString("en")));
    byId("tabs").append(v.tab);
  }
  byId("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = views[(views.indexOf(shown) + by + views.length) % views.length];
    show(next.name);
    next.tab.focus();
  });
}

const perStep = (n) => {
  const x = n / steps;
  return x === Math.round(x) ? x.toLocaleString("en") : x.toFixed(1);
};
const most = (list, value) => list.reduce((a, b) => Math.max(a, value(b)), 0) || 1;
const words_ = (...inside) => element("span", {}, ...inside);

// columns that every table of costs has; flops and bytes are sums
function costColumns(list, busy = totals.busy || 1) {
  const longest = most(list, (r) => r.time);
  return [
    ["time", "", (r) => r.time, (r) => heat(time(r.time / steps), r.time / longest)],
    ["of all", "", (r) => r.time, (r) => share(r.time / busy)],
    ["calls", "wide", (r) => r.calls, (r) => perStep(r.calls)],
    ["GB/s", "wide", (r) => speed(r.nbytes, r), (r) => (r.nbytes ? three(speed(r.nbytes, r)) : "")],
    ["GFLOP/s", "wide", (r) => speed(r.flops, r), (r) => (r.flops ? three(speed(r.flops, r)) : "")],
    ["roofline", "", (r) => speed(r.least, r), (r) => (r.least ? share(speed(r.least, r)) : "")],
  ];
}
const speed = (amount, row) => (row.time ? amount / row.time : 0);

view("source", "Source", null, (host) => panes(host));

view("lines", "Lines", rows.length, (host) => new Table(host, {
  rows,
  columns: [
    ...costColumns(rows),
    ["kernels", "wide", (r) => r.kernels, (r) => String(r.kernels)],
    ["memory", "wide", (r) => r.allocated, (r) => (r.allocated ? size(r.allocated / steps) : "")],
    ["line", "words", (r) => place(r), (r) => words_(element("span", { class: "place" }, place(r)), element("span", { class: "said" }, said(r)))],
  ],
  pick: (row) => row.file && select({ key: row.key, source: "lines" }),
  chosen: (row) => selection.keys.has(row.key),
  empty: "No kernel ran.",
}));

view("modules", "Modules", modules.length - 1, (host) => {
  const before = (r) => (r.name ? "\u2003".repeat(r.name.split(".").length) : "");
  const named = (r) => (tree.by === 0 ? r.name.split(".").pop() : r.name);
  const tree = { by: 0 };
  new Table(host, {
    rows: modules,
    columns: [
      ["module", "words", (r) => -modules.indexOf(r), (r) => words_(tree.by === 0 ? before(r) : "", element("span", { class: r.name ? "mono" : "place" }, named(r) || "all"))],
      ["own", "wide", (r) => r.own, (r) => (r.own ? time(r.own / steps) : "")],
      ...costColumns(modules),
    ],
    pick: (row) => selectModule(row.name),
    chosen: (row) => Boolean(row.name) && row.name === chosenModule && selection.source === "modules",
    sorts: (by) => { tree.by = by; },
  });
});
let chosenModule = "";
function selectModule(name) {
  chosenModule = name;
  const inside = (line) => !name || line.module === name || line.module.startsWith(`${name}.`);
  const found = records.filter((r) => r.parts.some((p) => inside(p.line))).sort((a, b) => b.time - a.time);
  if (found.length) select({ record: found[0], records: found, source: "modules" });
}

const kernelRows = records.map((record) => ({
  record, name: record.name, time: record.time, calls: record.calls, least: record.least,
  nbytes: record.calls * record.nbytes, flops: record.calls * record.flops, line: record.parts[0]?.line,
}));
view("kernels", "Kernels", records.length, (host) => new Table(host, {
  rows: kernelRows,
  sorted: 1,
  columns: [
    ["kernel", "name", (r) => r.name, (r) => r.name],
    ...costColumns(kernelRows),
    ["bytes", "wide", (r) => r.record.nbytes, (r) => size(r.record.nbytes)],
    ["line", "words", (r) => r.line?.key ?? "", (r) => words_(element("span", { class: "place" }, r.line ? place(r.line) : "(no line)"), element("span", { class: "said" }, r.line ? `${r.line.module} ${r.line.phase}` : ""))],
  ],
  pick: (row) => select({ record: row.record, source: "kernels" }),
  chosen: (row) => selection.records.has(row.record),
  empty: "No kernel ran.",
}));

view("roofline", "Roofline", null, (host) => {
  host.classList.add("chart");
  const figure = element("div", { class: "figure" });
  const beside = element("div", { class: "beside" });
  host.append(figure, beside);
  roofline(figure);
  const list = [...kernelRows].filter((r) => r.time);
  new Table(beside, {
    rows: list,
    sorted: 1,
    columns: [
      ["kernel", "name", (r) => r.name, (r) => r.name],
      ["to gain", "", (r) => r.time - r.least, (r) => time(Math.max(0, r.time - r.least) / steps)],
      ["roofline", "", (r) => speed(r.least, r), (r) => (r.least ? share(speed(r.least, r)) : "")],
      ["bound by", "", (r) => bound(r.record), (r) => bound(r.record)],
    ],
    pick: (row) => select({ record: row.record, source: "roofline" }),
    chosen: (row) => selection.records.has(row.record),
  });
});
const bound = (record) => (record.flops / (machine.flops || 1) > record.nbytes / (bandwidthOf(record.nbytes) || 1) ? "flops" : "bytes");

view("memory", "Memory", null, (host) => {
  host.classList.add("chart");
  const figure = element("div", { class: "figure" });
  const beside = element("div", { class: "beside" });
  host.append(figure, beside);
  memoryChart(figure);
  const largest = most(memory.lines, (r) => r.nbytes);
  new Table(beside, {
    rows: memory.lines,
    columns: [
      ["bytes", "", (r) => r.nbytes, (r) => heat(size(r.nbytes), r.nbytes / largest)],
      ["of peak", "", (r) => r.nbytes, (r) => share(r.nbytes / memory.peak)],
      ["buffers", "wide", (r) => r.many, (r) => r.many.toLocaleString("en")],
      ["line", "words", (r) => place(r), (r) => words_(element("span", { class: "place" }, place(r)), element("span", { class: "said" }, said(r)))],
    ],
    pick: (row) => select({ key: row.key, source: "memory" }),
    chosen: (row) => selection.keys.has(row.key),
    empty: "No allocation was recorded.",
  });
});

const passes = (() => {
  const found = [];
  for (let n = 0; n < events.count; n++) {
    if (events.kind(n) !== "compile") continue;
    const [name, ...detail] = events.name(n).split(": ");
    found.push({ n, name, detail: detail.join(": "), time: events.took[n], args: events.args(n), key: events.lines(n)[0]?.key });
  }
  return found;
})();
view("compile", "Compile", passes.length, (host) => {
  const longest = most(passes, (p) => p.time);
  new Table(host, {
    rows: passes,
    sorted: 0,
    columns: [
      ["when", "", (p) => -events.start[p.n], (p) => time(events.start[p.n])],
      ["time", "", (p) => p.time, (p) => heat(time(p.time), p.time / longest)],
      ["pass", "name", (p) => p.name, (p) => p.name],
      ["what it did", "words", null, (p) => words_(element("span", { class: "mono" }, did(p)))],
    ],
    pick: (p) => p.key && select({ key: p.key, source: "compile" }),
    chosen: (p) => selection.keys.has(p.key),
    empty: "Nothing was compiled while this profile was taken: its programs were known.",
  });
});
function did({ detail, args }) {
  const { before, after, ...rest } = args;
  const nodes = before !== undefined && after !== undefined ? [`${before} → ${after} nodes`] : [];
  return [...(detail ? [detail] : []), ...nodes, ...Object.entries(rest).map(([name, value]) => `${name} ${value}`)].join(", ");
}

// equal decisions of many calls are one row; one about two kernels counts where the value is read,
// or at the product
const decisions = (() => {
  const found = new Map();
  for (const record of records) for (const d of record.decisions) {
    const key = [d.kind, d.what, d.of, d.line?.key, d.ofLine?.key, d.refused].join("\u0000");
    const row = found.get(key) ?? { ...d, apart: 0, together: 0, times: 0, record, all: new Set() };
    if (d.side !== (["epilogue", "prologue"].includes(d.kind) ? "reads" : "makes")) {
      row.times += d.times;
      row.apart += d.apart;
      row.together += d.together;
    }
    row.all.add(record);
    found.set(key, row);
  }
  return [...found.values()].map((row) => ({ ...row, all: [...row.all] }));
})();
view("fusion", "Fusion", decisions.length, (host) => new Table(host, {
  rows: decisions,
  sorted: 2,
  columns: [
    ["decision", "name", (d) => verdict(d), (d) => verdict(d)],
    ["times", "wide", (d) => d.times, (d) => String(d.times)],
    ["apart", "wide", (d) => d.apart, (d) => size(d.apart)],
    ["together", "", (d) => d.together, (d) => size(d.together)],
    ["saved", "", (d) => (d.refused ? 0 : d.apart - d.together), (d) => (d.refused ? "" : size(d.apart - d.together))],
    ["why not, and of what", "words", (d) => d.refused, (d) => words_(element("span", { class: "place" }, why(d) ? `${why(d)}  ` : ""), element("span", { class: "said" }, sides(d)))],
  ],
  pick: (d) => select({ record: d.record, records: d.all, source: "fusion" }),
  chosen: (d) => d.all.some((r) => selection.records.has(r)),
  empty: "No fusion was weighed.",
}));

function figures() {
  const kernels = records.filter((r) => r.time);
  const least = kernels.reduce((sum, r) => sum + r.least, 0);
  const flops = kernels.reduce((sum, r) => sum + r.calls * r.flops, 0);
  const calls = kernels.reduce((sum, r) => sum + r.calls, 0);
  // passes stand inside of others: a moment counts once
  let compiling = 0, done = 0;
  for (const p of passes) {
    const stop = events.start[p.n] + p.time;
    compiling += Math.max(0, stop - Math.max(done, events.start[p.n]));
    done = Math.max(done, stop);
  }
  const figure = (name, value, more = "") => element("div", {}, element("dt", {}, name), element("dd", {}, value, " ", element("small", {}, more)));
  const all = [
    figure(totals.steps ? "kernels of a step" : "kernels", time(totals.busy / steps), totals.steps ? `of ${time(totals.stepping / steps)}` : ""),
    figure("calls", perStep(calls), `of ${kernels.length.toLocaleString("en")} kernels`),
    figure("speed", totals.busy ? three(flops / totals.busy) : "–", "GFLOP/s"),
    figure("of roofline", totals.busy ? share(least / totals.busy) : "–"),
    memory.peak ? figure("peak memory", size(memory.peak)) : null,
    figure("name a line", share(totals.coverage), "of events"),
    compiling ? figure("compiling", time(compiling)) : null,
    raw.lost ? figure("lost", raw.lost.toLocaleString("en"), "events") : null,
    raw.ranks[1] > 1 ? figure("rank", `${raw.ranks[0]}`, `of ${raw.ranks[1]}`) : null,
  ].filter(Boolean);
  const phases = new Map();
  for (const row of rows) for (const [phase, spent] of row.phases) if (row.file) phases.set(phase, (phases.get(phase) ?? 0) + spent);
  const order = Object.keys(PHASES);
  const named = [...phases].sort(([a], [b]) => (order.indexOf(a) + 1 || 9) - (order.indexOf(b) + 1 || 9));
  const split = element("div", { class: "split", "aria-hidden": "true" }, ...named.map(([phase, spent]) => element("i", { style: `flex:${spent};background:var(${PHASES[phase] ?? KINDS[phase] ?? "--copy"})`, title: phase })));
  const text = named.map(([phase, spent]) => `${phase} ${share(spent / (totals.busy || 1))}`).join(", ");
  all.push(element("div", { class: "phases" }, element("dt", {}, text), element("dd", {}, split)));
  byId("figures").append(...all);
  const used = [...order, ...new Set(Array.from({ length: events.count }, (_, n) => events.kind(n)))].filter((name) => phases.has(name) || name in KINDS);
  byId("legend").append(...used.map((name) => element("span", {}, element("span", { class: "dot", style: `background:var(${PHASES[name] ?? KINDS[name]})` }), name)));
}
