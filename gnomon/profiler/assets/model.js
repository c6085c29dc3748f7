// What the page knows: the numbers unpacked, and ways to find one thing from another.
// Columns stand in the order in which packing.py wrote them.

const byId = (id) => document.getElementById(id);

async function unpacked() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("it needs a browser of 2023 or later");
  }
  const bytes = Uint8Array.from(atob(byId("profile").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const raw = await unpacked();
byId("profile").remove();

const words = (n) => raw.text[n];
const keyOf = (file, line) => `${file}:${line}`;

const lines = raw.lines.map(([file, line, called, module, phase]) => ({
  file: words(file), line, called: words(called), module: words(module), phase: words(phase),
  key: keyOf(words(file), line),
}));

const ops = raw.ops.map(([name, of, again]) => ({
  name: words(name), lines: of.map((n) => lines[n]), again: Boolean(again),
}));

const buffers = raw.buffers.map(([name, role, type, nbytes]) => ({
  name: words(name), role: words(role), type: words(type), nbytes,
}));

const machine = {
  name: raw.machine[0], threads: raw.machine[1], flops: raw.machine[2], bandwidth: raw.machine[3],
  caches: raw.machine[4],
};
const bandwidthOf = (nbytes) => (machine.caches.find(([held]) => nbytes <= held) ?? [0, machine.bandwidth])[1];
const totals = {
  stepping: raw.totals[0], busy: raw.totals[1], steps: raw.totals[2], kernels: raw.totals[3],
  events: raw.totals[4], coverage: raw.totals[5],
};
const steps = Math.max(1, totals.steps);

const records = raw.records.id.map((id, n) => {
  const of = raw.records;
  const parts = of.lines[n].map(([line, part]) => ({ line: lines[line], part }));
  parts.sort((a, b) => b.part - a.part);
  return {
    n, id, name: words(of.name[n]), symbol: words(of.symbol[n]), program: words(of.program[n]),
    backend: words(of.backend[n]), times: of.times[n], flops: of.flops[n], nbytes: of.nbytes[n],
    parts, ops: of.ops[n].map((k) => ops[k]), buffers: of.buffers[n].map((k) => buffers[k]),
    decisions: of.decisions[n].map(([kind, side, what, made, refused, line, madeAt, apart, together, times, ...spent]) => ({
      kind: words(kind), side: words(side), what: words(what), of: words(made), refused: words(refused),
      line: lines[line] ?? null, ofLine: lines[madeAt] ?? null, apart, together, times, spent,
    })),
    members: of.members[n].map(([symbol, line, part]) => ({ symbol: words(symbol), line: lines[line], part })),
    time: of.time[n], calls: of.calls[n], least: of.least[n],
    phase: parts.length ? parts[0].line.phase : "forward",
  };
});

const rows = raw.rows.map((row) => ({
  file: words(row[0]), line: row[1], called: words(row[2]), time: row[3], calls: row[4],
  kernels: row[5], nbytes: row[6], flops: row[7], least: row[8], allocations: row[9],
  allocated: row[10], phases: row[11].map(([name, time]) => [words(name), time]),
  modules: row[12].map(words), key: keyOf(words(row[0]), row[1]),
}));
const rowOf = new Map(rows.map((row) => [row.key, row]));

const modules = raw.modules.map(([name, own, time, calls, kernels, nbytes, flops, least]) => ({
  name: words(name), own, time, calls, kernels, nbytes, flops, least,
}));

const memory = {
  times: raw.memory.times, live: raw.memory.live, peak: raw.memory.peak, at: raw.memory.at,
  lines: raw.memory.lines.map(([file, line, nbytes, many]) => ({
    file: words(file), line, nbytes, many, key: keyOf(words(file), line),
  })),
  buffers: raw.memory.buffers.map(([name, nbytes, line]) => ({
    name: words(name), nbytes, line: lines[line],
  })),
};

const events = (() => {
  const { kind, name, since, took, thread, record } = raw.events;
  const start = new Float64Array(since.length);
  for (let n = 0, now = 0; n < since.length; n++) start[n] = now += since[n];
  return {
    count: since.length, start, took, thread, record,
    kind: (n) => words(kind[n]), name: (n) => words(name[n]),
    lines: (n) => (raw.events.lines[n] ?? []).map((k) => lines[k]),
    args: (n) => raw.events.args[n] ?? {},
  };
})();

const sources = new Map(Object.entries(raw.sources).map(([file, text]) => [file, text.split("\n")]));
const graphs = new Map(Object.entries(raw.graphs).map(([name, text]) => [name, text.trimEnd().split("\n")]));
const noted = rows.some((row) => row.allocated);
const code = new Map(Object.entries(raw.code).map(([name, text]) => [name, text.trimEnd().split("\n")]));

// which call made a value of a program's text
const makers = new Map();
for (const record of records) {
  for (const b of record.buffers) if (b.role !== "input") makers.set(`${record.program}\u0000${b.name}`, record);
}
const recordsOfLine = new Map();
const recordsOfSymbol = new Map();
const gather = (map, key, value) => map.has(key) ? map.get(key).push(value) : map.set(key, [value]);
for (const record of records) {
  for (const key of new Set(record.parts.map((p) => p.line.key))) gather(recordsOfLine, key, record);
  for (const symbol of new Set([record.symbol, ...record.members.map((m) => m.symbol)])) gather(recordsOfSymbol, symbol, record);
}
const timeAt = (record, key) => record.parts.reduce((sum, p) => sum + (p.line.key === key ? p.part * record.time : 0), 0);
for (const [key, list] of recordsOfLine) list.sort((a, b) => timeAt(b, key) - timeAt(a, key));
for (const list of recordsOfSymbol.values()) list.sort((a, b) => b.time - a.time);

// files that a line of a graph may name, by their full path and by their name alone
const knownKeys = new Map();
for (const key of new Set([...recordsOfLine.keys(), ...rowOf.keys()])) {
  const [, file, line] = /^(.*):(\d+)$/.exec(key) ?? [];
  if (!file) continue;
  knownKeys.set(key, key);
  const short = `${file.split("/").pop()}:${line}`;
  knownKeys.set(short, knownKeys.has(short) && knownKeys.get(short) !== key ? null : key);
}
const named = new Map();
function keysIn(text) {
  if (!named.has(text)) {
    const found = new Set();
    for (const [place] of text.matchAll(/[^\s#"'()[\],]+:\d+/g)) {
      const key = knownKeys.get(place) ?? knownKeys.get(place.split("/").pop());
      if (key) found.add(key);
    }
    named.set(text, [...found]);
  }
  return named.get(text);
}

// numbers as people read them

const three = (x) => x.toFixed(Math.abs(x) < 9.995 ? 2 : Math.abs(x) < 99.95 ? 1 : 0);
const scaled = (x, scales, last) => {
  for (const [size, unit] of scales) if (Math.abs(x) >= 0.9995 * size) return `${three(x / size)} ${unit}`;
  return last(x);
};
const time = (ns) => scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]], (x) => `${Math.round(x)} ns`);
const size = (n) => scaled(n, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]], (x) => `${Math.round(x)} B`);
const count = (n) => scaled(n, [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]], (x) => `${Math.round(x * 10) / 10} `);
const share = (x) => `${(100 * x).toFixed(x < 0.0995 ? 1 : 0)}%`;
const short = (file) => file.split("/").slice(-2).join("/");
const place = (line) => (line.file ? `${short(line.file)}:${line.line}` : "(no line)");
const DONE = { epilogue: "fused", join: "fused", share: "read once", recompute: "computed again" };
const verdict = (d) => (d.refused ? "apart" : DONE[d.kind] ?? "fused");
// both sides of a decision, each with its line
const named_ = (ops, line) => `${ops}${line ? ` (${place(line)}${line.phase === "forward" ? "" : ` ${line.phase}`})` : ""}`;
const why = (d) => d.refused + (d.spent.length ? ` (${time(d.spent[0])} apart, ${time(d.spent[1])} together)` : "");
const sides = (d) => `${named_(d.what, d.line)}${d.of ? `${d.kind === "share" ? " and " : " of "}${named_(d.of, d.ofLine)}` : ""}`;
const said = (line) => (sources.get(line.file)?.[line.line - 1] ?? "").trim();

function speeds(of, calls = 1) {
  return {
    gbytes: of.time ? (calls * of.nbytes) / of.time : 0,
    gflops: of.time ? (calls * of.flops) / of.time : 0,
    roofline: of.time ? of.least / of.time : 0,
  };
}

// elements: no text is ever read as HTML
function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name === "style") made.style.cssText = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...inside.filter((x) => x !== null && x !== undefined));
  return made;
}

const PHASES = { forward: "--forward", backward: "--backward", optimizer: "--optimizer" };
const KINDS = { comm: "--comm", copy: "--copy", compile: "--compile", forced: "--forced" };
let colours = new Map();
function colour(name) {
  const variable = PHASES[name] ?? KINDS[name] ?? (name.startsWith("--") ? name : "--copy");
  if (!colours.has(variable)) {
    colours.set(variable, getComputedStyle(document.documentElement).getPropertyValue(variable).trim());
  }
  return colours.get(variable);
}

// what is selected, and who wants to know
const selection = { keys: new Set(), records: new Set(), record: null, key: null, source: "" };
const watchers = [];
function select({ record = null, key = null, records: all = null, source = "" }) {
  const chosen = record ? (all ?? [record]) : key ? (recordsOfLine.get(key) ?? []) : [];
  selection.records = new Set(chosen);
  selection.record = record ?? chosen[0] ?? null;
  selection.keys = new Set(key ? [key] : chosen.flatMap((r) => r.parts.map((p) => p.line.key)));
  selection.key = key ?? selection.record?.parts[0]?.line.key ?? null;
  selection.source = source;
  for (const watcher of watchers) watcher();
  byId("said").textContent = selection.record
    ? `${selection.record.name}, ${time(selection.record.time / steps)} of a step, ${selection.key ?? ""}` : "";
}
