// Your source, the graph and the generated code beside each other; a click in one shows all three.

const WORDS = {
  python: /(#.*$)|("""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|class|return|for|in|if|elif|else|while|with|as|import|from|not|and|or|is|None|True|False|lambda|yield|try|except|finally|raise|pass|self)\b|\b(\d[\d_.]*(?:e[+-]?\d+)?)\b/g,
  llvm: /(;.*$)|("[^"]*")|\b(define|declare|load|store|call|br|ret|phi|fmul|fadd|fsub|fdiv|add|sub|mul|select|icmp|fcmp|getelementptr|bitcast|shufflevector|insertelement|extractelement|label|to|align|nsw|udiv|sdiv|urem|attributes)\b|(%[\w.]+|@[\w.]+)/g,
};
const KINDS_OF_WORDS = ["c", "s", "k", "n"];

function tinted(text, language) {
  const made = element("span", { class: "code" });
  if (!language || text.length > 400) {
    made.textContent = text;
    return made;
  }
  let last = 0;
  for (const found of text.matchAll(WORDS[language])) {
    made.append(text.slice(last, found.index));
    const kind = KINDS_OF_WORDS[found.slice(1).findIndex((x) => x !== undefined)];
    made.append(element("span", { class: kind }, found[0]));
    last = found.index + found[0].length;
  }
  made.append(text.slice(last));
  return made;
}

function pane(title, ...inside) {
  const made = element("section", { class: "pane", "aria-label": title });
  const head = element("div", { class: "head" }, element("h2", {}, title), ...inside);
  made.append(head);
  return made;
}

function chooser(label, options, change) {
  const made = element("select", { "aria-label": label, onchange: () => change(made.value) });
  made.fill = (list) => made.replaceChildren(...list.map(([value, text]) => element("option", { value }, text)));
  made.fill(options);
  return made;
}

const HEIGHT = 20;

// codes, and after them the functions that they declare and others share
function withParts(symbols) {
  const found = new Set(symbols);
  for (const symbol of found) {
    for (const line of code.get(symbol) ?? []) {
      const called = line.startsWith("declare ") ? /@([\w.]+)/.exec(line)?.[1] : null;
      if (called && code.has(called)) found.add(called);
    }
  }
  return [...found];
}

function panes(host) {
  host.classList.add("panes");
  host.append(sourcePane(), graphPane(), codePane());
}

function sourcePane() {
  const spent = new Map();
  for (const row of rows) if (sources.has(row.file)) spent.set(row.file, (spent.get(row.file) ?? 0) + row.time);
  const files = [...sources.keys()].sort((a, b) => (spent.get(b) ?? 0) - (spent.get(a) ?? 0));
  const longest = most(rows.filter((r) => sources.has(r.file)), (r) => r.time);
  let file = files[0] ?? "";
  const choose = chooser("File", files.map((f) => [f, `${short(f)}  ${time((spent.get(f) ?? 0) / steps)}`]), (value) => open(value));
  const made = pane("Source", choose);
  const note = element("div", { class: "columns" }, element("span", { style: "width:62px" }, "time"), noted ? element("span", { style: "width:60px" }, "memory") : null, element("span", { style: "width:40px" }, "line"));
  const body = element("div", { class: "text", "aria-label": "Source lines" });
  made.append(note, body);
  if (!files.length) {
    note.hidden = true;
    made.append(element("p", { class: "empty" }, "The profile holds no source."));
  }
  const list = new Rows(body, {
    height: HEIGHT,
    draw: (n) => {
      const row = rowOf.get(keyOf(file, n + 1));
      return element("div", { class: selection.keys.has(keyOf(file, n + 1)) ? "hit" : "" },
        element("span", { class: "cost", style: row ? `background:rgba(var(--heat),${(0.06 + (0.5 * row.time) / longest).toFixed(3)})` : "" }, row?.time ? time(row.time / steps) : ""),
        noted ? element("span", { class: "cost memory" }, row?.allocated ? size(row.allocated / steps) : "") : null,
        element("span", { class: "number" }, String(n + 1)),
        tinted(sources.get(file)[n], "python"));
    },
    pick: (n) => select({ key: keyOf(file, n + 1), source: "source" }),
  });
  function open(name, line = null) {
    file = name;
    choose.value = name;
    list.set(sources.get(file)?.length ?? 0);
    if (line !== null) list.at = line - 1;
    if (line !== null) list.reveal(line - 1);
  }
  watchers.push(() => {
    const [, named, line] = /^(.*):(\d+)$/.exec(selection.key ?? "") ?? [];
    if (sources.has(named) && selection.source !== "source") open(named, Number(line));
    else list.show();
  });
  open(file);
  const hottest = rows.find((r) => r.file === file);
  if (hottest) requestAnimationFrame(() => list.reveal(hottest.line - 1));
  return made;
}

function graphPane() {
  const names = [...graphs.keys()];
  let name = names[0] ?? "";
  const choose = chooser("Program", names.map((n) => [n, n]), (value) => open(value));
  const found = element("span", { class: "note" });
  const made = pane("Graph", choose, found);
  const body = element("div", { class: "text", "aria-label": "Nodes of the graph" });
  made.append(body);
  if (!names.length) made.append(element("p", { class: "empty" }, "The profile holds no graph."));
  const text = () => graphs.get(name) ?? [];
  const list = new Rows(body, {
    height: HEIGHT,
    draw: (n) => {
      const [, before, after] = /^(.*?)(\s*#.*)?$/.exec(text()[n]);
      const hit = keysIn(text()[n]).some((key) => selection.keys.has(key));
      const made = selection.record && maker(text()[n]) === selection.record;
      return element("div", { class: `${hit ? "hit" : ""} ${made ? "made" : ""}` }, element("span", { class: "code" }, before, element("span", { class: "c" }, shortened(after ?? ""))));
    },
    pick: (n) => {
      const [key] = keysIn(text()[n]);
      const record = maker(text()[n]);
      if (record) select({ record, key, records: [record], source: "graph" });
      else if (key) select({ key, source: "graph" });
    },
  });
  function maker(line) {
    const value = /^\s*(\S+) = /.exec(line)?.[1];
    return value ? makers.get(`${name}\u0000${value}`) ?? null : null;
  }
  function shortened(comment) {
    return comment.replace(/\S*\/([^/\s]+\/[^/\s]+:\d+)/g, "$1");
  }
  function open(value) {
    name = value;
    choose.value = value;
    list.set(text().length);
  }
  watchers.push(() => {
    const program = selection.record?.program;
    if (graphs.has(program) && program !== name) open(program);
    let first = -1, count_ = 0;
    const exact = selection.record ? text().findIndex((line) => maker(line) === selection.record) : -1;
    if (selection.keys.size) text().forEach((line, n) => {
      if (!keysIn(line).some((key) => selection.keys.has(key))) return;
      if (first < 0) first = n;
      count_ += 1;
    });
    found.textContent = count_ ? `${count_} node${count_ > 1 ? "s" : ""}` : "";
    if (exact >= 0) first = exact;
    if (first >= 0 && selection.source !== "graph") list.reveal(first);
    else list.show();
  });
  open(name);
  return made;
}

function codePane() {
  let symbol = "", record = null;
  const choose = chooser("Kernel", [], (value) => select({ record: records[Number(value)], records: [...selection.records], key: null, source: "code" }));
  const note = element("span", { class: "note" });
  const made = pane("Code", choose, note);
  const summary = element("summary", {});
  const facts = element("dl", { class: "facts" });
  const details = element("details", {}, summary, facts);
  const body = element("div", { class: "text", "aria-label": "Lines of code" });
  const empty = element("p", { class: "empty" }, "The profile holds no text of this kernel.");
  made.append(details, body, empty);
  // a batch runs the code of its members
  const symbols = () => [symbol, ...new Set(record?.members.map((m) => m.symbol) ?? [])];
  let kept = [];
  const text = () => kept;
  const list = new Rows(body, {
    height: HEIGHT,
    draw: (n) => element("div", { class: selection.records.has(record) ? (/^define\b|^def /.test(text()[n]) ? "hit" : "near") : "" }, tinted(text()[n], "llvm")),
    pick: () => {
      const all = recordsOfSymbol.get(symbol) ?? [];
      select({ record: record ?? all[0], records: all, source: "code" });
    },
  });
  const fact = (name, ...value) => [element("dt", {}, name), element("dd", {}, ...value)];
  // what most bytes hang on first
  const weighed = (of) => [...of.decisions].sort((a, b) => b.apart - a.apart);
  // the batch is measured, its kernels are not
  function members(of) {
    const sorted = [...of.members].sort((a, b) => b.part - a.part);
    const more = sorted.length > 40 ? [element("div", {}, `and ${sorted.length - 40} more`)] : [];
    const title = "Only the batch is measured: its kernels share the time by their bytes.";
    const lines = sorted.slice(0, 40).map((m) => element("div", { title }, `${time((m.part * of.time) / steps)}  ${m.line.file ? place(m.line) : "(no line)"} ${m.line.module}`));
    return sorted.length ? fact("by bytes", ...lines, ...more) : [];
  }
  function describe(of) {
    const { gbytes, gflops: speed_, roofline: part } = speeds(of, of.calls);
    summary.textContent = `${time(of.time / steps)} a step, ${perStep(of.calls)} call${of.calls === steps ? "" : "s"}, ${three(speed_)} GFLOP/s, ${three(gbytes)} GB/s, ${share(part)} of roofline`;
    facts.replaceChildren(
      ...fact("runs", ...of.ops.flatMap((op, n) => [n ? ", " : "", op.again ? element("span", { class: "again", title: "computed again" }, `${op.name} (again)`) : op.name])),
      ...fact("for", ...of.parts.flatMap(({ line, part: p }) => [element("div", {}, `${place(line)} ${line.module} ${line.phase} ${share(p)}`)])),
      ...of.buffers.slice(0, 40).flatMap((b) => fact(b.role, `${b.name} ${b.type} ${size(b.nbytes)}`)),
      ...(of.buffers.length > 40 ? fact("", `and ${of.buffers.length - 40} more`) : []),
      ...fact("work", `${count(of.flops)}flop, ${size(of.nbytes)}, ${of.backend}${of.members.length ? `, a batch of ${of.members.length}` : ""}`),
      ...members(of),
      ...weighed(of).slice(0, 40).flatMap((d) => fact(verdict(d), `${sides(d)}: ${size(d.apart)} apart, ${size(d.together)} together${why(d) ? `; ${why(d)}` : ""}`)),
      ...(of.decisions.length > 40 ? fact("", `and ${of.decisions.length - 40} more decisions`) : []),
    );
  }
  function open(of) {
    record = of;
    const same = of?.symbol === symbol;
    symbol = of?.symbol ?? "";
    kept = withParts(symbols()).flatMap((s) => code.get(s) ?? []);
    details.hidden = !of;
    if (of) describe(of);
    const near = selection.records.size ? [...selection.records].slice(0, 300) : of ? [of] : [];
    choose.fill(near.map((r) => [r.n, `${r.name} ${r.parts[0]?.line.module ?? ""} ${time(r.time / steps)}`]));
    if (of) choose.value = String(of.n);
    note.textContent = near.length > 1 ? `1 of ${selection.records.size.toLocaleString("en")}` : "";
    empty.hidden = Boolean(text().length);
    body.hidden = !text().length;
    list.set(text().length);
    if (!same) body.scrollTop = 0;
  }
  watchers.push(() => open(selection.record ?? record));
  open(kernelRows.reduce((a, b) => (a && a.time >= b.time ? a : b), null)?.record ?? null);
  return made;
}
