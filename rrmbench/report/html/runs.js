// The table of runs: sorted by a column, filtered by words and status, a page of rows at a time.

const ROWS = 100; // that are added at a time: thousands at once are slow

class RunTable {
  constructor(root, data) {
    this.data = data;
    this.root = root;
    this.by = null; // number of the column that sorts
    this.falling = false;
    this.most = ROWS;
    this.status = data.columns.findIndex(([name]) => name === "status");
    this.texts = data.rows.map((row) => row.join(" ").toLowerCase());
    this.head();
    this.part("words").addEventListener("input", () => this.refresh());
    this.part("status-filter").addEventListener("change", () => this.refresh());
    this.part("more").addEventListener("click", () => {
      this.most += 5 * ROWS;
      this.fill();
    });
    this.refresh();
  }

  part(name) {
    return this.root.querySelector(`.${name}`);
  }

  head() {
    const cells = this.data.columns.map(([name, isNumber], number) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.className = isNumber ? "number" : name === "run" ? "id" : "";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name.replaceAll("_", " ");
      button.addEventListener("click", () => this.sort(number));
      cell.append(button);
      return cell;
    });
    const row = document.createElement("tr");
    row.append(...cells);
    this.root.querySelector("thead").replaceChildren(row);
  }

  sort(number) {
    this.falling = this.by === number && !this.falling;
    this.by = number;
    this.root.querySelectorAll("thead th").forEach((cell, other) => {
      cell.ariaSort = other !== number ? null : this.falling ? "descending" : "ascending";
      cell.querySelector("button").textContent =
        this.data.columns[other][0].replaceAll("_", " ") + (other !== number ? "" : this.falling ? " ▼" : " ▲");
    });
    this.refresh();
  }

  refresh() {
    const words = this.part("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const status = this.part("status-filter").value;
    const matches = (row) =>
      (!status || this.data.rows[row][this.status] === status) && words.every((word) => this.texts[row].includes(word));
    this.found = [...this.data.rows.keys()].filter(matches);
    if (this.by !== null) this.found.sort((one, other) => this.order(one, other));
    this.most = ROWS;
    this.fill();
  }

  /** Rows without a value come last, whichever way the column is sorted. */
  order(one, other) {
    const isNumber = this.data.columns[this.by][1];
    const [a, b] = [one, other].map((row) => this.data.rows[row][this.by]);
    const missing = (a === null || a === "") - (b === null || b === "");
    if (missing || a === null || a === "") return missing;
    const rising = isNumber ? Number(a) - Number(b) || 0 : a.localeCompare(b, "en", { numeric: true });
    return this.falling ? -rising : rising;
  }

  fill() {
    const shown = this.found.slice(0, this.most);
    this.root.querySelector("tbody").replaceChildren(...shown.map((row) => this.row(row)));
    const [all, found] = [this.data.rows.length, this.found.length];
    const matching = found === all ? `${all} runs` : `${found} of ${all} runs match`;
    this.part("shown").textContent = matching + (shown.length === found ? "" : `, the first ${shown.length} are shown`);
    const rest = this.found.length - shown.length;
    this.part("more").hidden = rest === 0;
    this.part("more").textContent = `show ${Math.min(rest, 5 * ROWS)} more`;
  }

  row(number) {
    const line = document.createElement("tr");
    line.append(...this.data.rows[number].map((value, column) => this.cell(value, column)));
    const traceback = this.data.tracebacks[number];
    if (traceback !== null) line.cells[this.status + 1].append(folded("traceback", this.data.texts[traceback]));
    return line;
  }

  cell(value, column) {
    const [name, isNumber] = this.data.columns[column];
    const cell = document.createElement("td");
    if (isNumber) {
      cell.className = "number";
      cell.textContent = shortened(value);
      if (typeof value === "number") cell.title = String(value);
      return cell;
    }
    cell.textContent = value;
    cell.className = { reason: "reason", run: "id", problem: "text long", method: "text long" }[name] || "text";
    if (name === "status" && value !== "done") cell.className = "bad";
    return cell;
  }
}

/** A number as the tables of rrmbench write it: 0.0123457, 1.2346e-5; the whole number is in the cell's title. */
function shortened(value) {
  if (value === null) return "";
  if (typeof value !== "number") return value === "Infinity" ? "none" : value;
  const size = Math.abs(value);
  const digits = value && (size < 0.01 || size >= 1e5) ? value.toExponential(4) : value.toPrecision(6);
  return digits.replace(/\.?0+(?=$|e)/, "").replace("e+", "e");
}

function folded(title, text) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = title;
  const content = document.createElement("pre");
  content.textContent = text;
  details.append(summary, content);
  return details;
}
