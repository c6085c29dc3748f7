// Long lists: only the rows that can be seen are in the page, whatever there are.

class Rows {
  // draw(n) makes the element of row n; pick(n) is called when it is chosen
  constructor(host, { draw, pick, height }) {
    this.host = host;
    this.draw = draw;
    this.pick = pick;
    this.height = height;
    this.count = 0;
    this.at = -1;
    this.whole = element("div", { class: "whole", role: "presentation" });
    host.classList.add("rows");
    host.setAttribute("role", "listbox");
    host.tabIndex = 0;
    host.append(this.whole);
    host.addEventListener("scroll", () => this.later(), { passive: true });
    host.addEventListener("keydown", (event) => this.key(event));
    this.whole.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.n));
    });
    new ResizeObserver(() => this.show()).observe(host);
  }

  set(count) {
    this.count = count;
    this.at = Math.min(this.at, count - 1);
    this.show();
  }

  later() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.show();
    });
  }

  show() {
    if (!this.host.clientHeight) return;
    const height = typeof this.height === "function" ? this.height() : this.height;
    const first = Math.max(0, Math.floor(this.host.scrollTop / height) - 6);
    const last = Math.min(this.count, Math.ceil((this.host.scrollTop + this.host.clientHeight) / height) + 6);
    this.whole.style.height = `${this.count * height}px`;
    const made = [];
    for (let n = first; n < last; n++) {
      const row = this.draw(n);
      row.dataset.n = n;
      row.classList.add("row");
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", row.classList.contains("hit"));
      row.style.top = `${n * height}px`;
      row.style.height = `${height}px`;
      made.push(row);
    }
    this.whole.replaceChildren(...made);
  }

  // scroll so that a row is in the middle, unless it can be seen already
  reveal(n) {
    const height = typeof this.height === "function" ? this.height() : this.height;
    const top = n * height;
    const { scrollTop, clientHeight } = this.host;
    if (clientHeight && (top < scrollTop || top + height > scrollTop + clientHeight)) {
      this.host.scrollTop = Math.max(0, top - clientHeight / 2);
    }
    this.show();
  }

  choose(n) {
    if (n < 0 || n >= this.count) return;
    this.at = n;
    this.pick(n);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.host.clientHeight / 24) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves && this.count && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      event.stopPropagation();
      this.choose(Math.max(0, Math.min(this.count - 1, this.at + moves[event.key])));
      this.reveal(this.at);
    }
  }
}

// a table with columns that sort: [title, class, value for sorting or null, cell(row)]
class Table {
  constructor(host, { columns, rows: all, pick, chosen, sorted = 0, sorts = () => {}, empty = "There are none." }) {
    Object.assign(this, { columns, all, chosen, sorts });
    this.by = sorted;
    this.down = true;
    host.classList.add("table");
    this.labels = element("div", { class: "labels", role: "row" });
    const body = element("div", { "aria-label": "Rows" });
    host.append(this.labels, body);
    if (!all.length) {
      host.append(element("p", { class: "empty" }, empty));
      this.labels.hidden = true;
      body.hidden = true;
    }
    const height = () => parseFloat(getComputedStyle(host).getPropertyValue("--row")) || 24;
    this.list = new Rows(body, { height, draw: (n) => this.row(n), pick: (n) => pick(this.sorted[n]) });
    this.sort();
    watchers.push(() => {
      const n = this.sorted.findIndex((row) => this.chosen(row));
      if (n >= 0) this.list.at = n;
      if (n >= 0 && body.clientHeight) this.list.reveal(n);
      else this.list.show();
    });
  }

  sort() {
    this.sorts(this.by);
    const value = this.columns[this.by][2];
    this.sorted = [...this.all];
    if (value) {
      const way = this.down ? 1 : -1;
      this.sorted.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return way * (typeof x === "string" ? x.localeCompare(y) : y - x);
      });
    }
    this.labels.replaceChildren(...this.columns.map(([title, style, sorts], n) => element("button", {
      type: "button", class: style, "aria-sort": n === this.by && sorts ? (this.down ? "descending" : "ascending") : null,
      onclick: () => {
        if (!sorts) return;
        this.down = n === this.by ? !this.down : true;
        this.by = n;
        this.sort();
      },
    }, title + (n === this.by && sorts ? (this.down ? " ↓" : " ↑") : ""))));
    this.list.set(this.sorted.length);
    this.list.show();
  }

  row(n) {
    const row = this.sorted[n];
    const made = element("div", { class: this.chosen(row) ? "hit" : "" });
    for (const [, style, , cell] of this.columns) {
      const inside = cell(row);
      made.append(inside instanceof Node ? withClass(inside, style) : element("span", { class: style }, inside));
    }
    return made;
  }
}

function withClass(made, style) {
  made.className = `${style} ${made.className}`.trim();
  return made;
}

// a part of the largest, as a bar behind the number
const heat = (text, part) => element("span", { class: "heat", style: `--part:${(100 * part).toFixed(1)}%` }, text);
