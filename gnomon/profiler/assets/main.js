// Search, keys, light and dark, and the start.

function search() {
  const input = byId("search"), box = byId("found");
  const MOST = 40;
  let found = [], at = 0;
  const places = [];
  for (const r of rows) if (r.file) places.push({ kind: "line", text: `${place(r)}  ${said(r)}`, hay: `${r.file}:${r.line} ${r.called} ${said(r)} ${r.modules.join(" ")}`.toLowerCase(), go: () => { show("source"); select({ key: r.key, source: "search" }); }, time: r.time });
  for (const m of modules) if (m.name) places.push({ kind: "module", text: m.name, hay: m.name.toLowerCase(), go: () => selectModule(m.name), time: m.time });
  const kinds = new Map();
  for (const r of records) gather(kinds, r.name, r);
  for (const [name, list] of kinds) places.push({ kind: "kernel", text: `${name}  ×${list.length}`, hay: `${name} ${[...new Set(list.flatMap((r) => [r.symbol, ...r.ops.map((o) => o.name)]))].join(" ")}`.toLowerCase(), time: list.reduce((s, r) => s + r.time, 0), go: () => select({ record: list.reduce((a, b) => (b.time > a.time ? b : a)), records: list, source: "search" }) });
  for (const p of passes) places.push({ kind: "pass", text: p.name, hay: p.name.toLowerCase(), time: p.time, go: () => show("compile") });
  places.sort((a, b) => b.time - a.time);

  function draw() {
    box.hidden = !input.value.trim();
    input.setAttribute("aria-expanded", !box.hidden);
    box.replaceChildren(...found.map((f, n) => {
      const row = element("div", { role: "option", "aria-selected": n === at, onpointerdown: (event) => { event.preventDefault(); go(n); } },
        element("span", { class: "kind" }, f.kind), element("span", { class: "what" }, f.text), element("span", { class: "quiet" }, time(f.time / steps)));
      return row;
    }));
    if (!found.length) box.append(element("div", { class: "none" }, "Nothing has this in its name."));
    box.children[at]?.scrollIntoView({ block: "nearest" });
  }
  function look() {
    const wanted = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const all = wanted.length ? places.filter((f) => wanted.every((w) => f.hay.includes(w))) : [];
    found = all.slice(0, MOST);
    at = 0;
    draw();
    if (!wanted.length) return timeline.mark(timeline.ofSelection());
    const matches = new Set(records.filter((r) => wanted.every((w) => hay(r).includes(w))).map((r) => r.n));
    timeline.mark((n) => (events.record[n] >= 0 ? matches.has(events.record[n]) : wanted.every((w) => events.name(n).toLowerCase().includes(w))));
  }
  const hays = new Map();
  function hay(r) {
    if (!hays.has(r)) hays.set(r, `${r.name} ${r.symbol} ${r.parts.map((p) => `${p.line.key} ${p.line.module} ${p.line.phase} ${said(p.line)}`).join(" ")}`.toLowerCase());
    return hays.get(r);
  }
  function go(n) {
    const chosen = found[n];
    if (!chosen) return;
    box.hidden = true;
    input.blur();
    chosen.go();
  }
  input.addEventListener("input", look);
  input.addEventListener("focus", () => input.value.trim() && look());
  input.addEventListener("blur", () => { box.hidden = true; });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = Math.max(0, Math.min(found.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
      draw();
    } else if (event.key === "Enter") go(at);
    else if (event.key === "Escape") {
      input.value = "";
      look();
      input.blur();
    } else return;
    event.stopPropagation();
  });
}

function theme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = (() => { try { return localStorage.getItem("gnomon-theme"); } catch { return null; } })();
  const redraw = () => { colours = new Map(); timeline.draw(); };
  const turn = () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try { localStorage.setItem("gnomon-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
    redraw();
  };
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  dark.addEventListener("change", redraw);
  byId("theme").addEventListener("click", turn);
  return turn;
}

// the n-th next of a list, from what is chosen
function step(list, chosen, by) {
  const at = list.indexOf(chosen);
  return list[(at < 0 ? (by > 0 ? 0 : list.length - 1) : (at + by + list.length) % list.length)];
}

function keys(turn) {
  const inTime = [];
  const met = new Set();
  for (let n = 0; n < events.count; n++) {
    const k = events.record[n];
    if (k >= 0 && !met.has(k)) { met.add(k); inTime.push(records[k]); }
  }
  const named = rows.filter((r) => r.file);
  const kernel = (by) => inTime.length && select({ record: step(inTime, selection.record, by), source: "keys" });
  const line = (by) => named.length && select({ key: step(named, rowOf.get(selection.key), by).key, source: "keys" });
  const dialog = byId("keys");
  const all = [
    [["/"], "search", () => byId("search").focus()],
    [["n", "p"], "next, previous costliest line", (key) => line(key === "n" ? 1 : -1)],
    [["j", "k"], "next, previous kernel in time", (key) => kernel(key === "j" ? 1 : -1)],
    [["w", "s"], "zoom the timeline in, out", (key) => timeline.zoom(key === "w" ? 0.7 : 1 / 0.7)],
    [["a", "d"], "move the timeline", (key) => timeline.pan(key === "a" ? -0.2 : 0.2)],
    [["e"], "one step, the next one", () => timeline.nextStep()],
    [["f"], "all of the timeline", () => timeline.fit()],
    [views.map((_, n) => String(n + 1)), views.map((v) => v.title.toLowerCase()).join(", "), (key) => show(views[Number(key) - 1].name)],
    [["t"], "light or dark", turn],
    [["Escape"], "select nothing", () => select({})],
    [["?"], "these keys", () => dialog.showModal()],
  ];
  dialog.querySelector("table").append(...all.map(([names, what]) => element("tr", {},
    element("td", {}, ...(names.length > 2 ? [element("kbd", {}, names[0]), "–", element("kbd", {}, names.at(-1))] : names.flatMap((k, n) => [n ? " " : "", element("kbd", {}, k)]))),
    element("td", {}, what))));
  byId("help").addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const found = all.find(([names]) => names.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found[2](event.key);
  });
}

figures();
tabs();
search();
keys(theme());
show("source");
timeline.draw();
document.documentElement.dataset.ready = "yes";
