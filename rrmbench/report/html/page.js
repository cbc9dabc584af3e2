// The page: what its controls do. A panel is drawn when it comes near the window.

// Plotly has buttons that send a figure's data to its maker's server: the buttons of a panel are these and no others.
const PLOTLY = {
  displaylogo: false, displayModeBar: "hover", responsive: true, doubleClick: "reset",
  plotlyServerURL: "", showLink: false, showSendToCloud: false, showEditInChartStudio: false,
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  toImageButtonOptions: { format: "svg" },
};

class Charts {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.arrays = new Arrays(data.arrays);
    this.hidden = data.figures.map(() => new Set());
    this.observer = new IntersectionObserver((entries) => this.near(entries), { rootMargin: "600px" });
    this.set("x", data.shown[0]);
    this.set("y", data.shown[1]);
    this.scales();
    for (const name of ["x", "y"]) {
      this.part(name).addEventListener("change", () => {
        this.scales();
        this.begin();
      });
    }
    for (const name of ["xscale", "yscale"]) this.part(name).addEventListener("change", () => this.redraw());
    for (const name of ["bands", "trials", "bounds"]) this.part(name)?.addEventListener("change", () => this.begin());
    this.part("figure")?.addEventListener("change", () => this.begin());
    this.begin();
  }

  part(name) {
    return this.root.querySelector(`.controls .${name}`);
  }

  /** Choose a value of a list of choices, if it is there. */
  set(name, value) {
    const choice = this.part(name);
    if ([...choice.options].some((option) => option.value === value)) choice.value = value;
  }

  /** The scales that `rrmbench plot` would take. */
  scales() {
    for (const axis of ["x", "y"]) this.set(`${axis}scale`, this.data[axis][this.part(axis).value]?.[1]);
  }

  get show() {
    const number = Number(this.part("figure")?.value ?? 0);
    const [x, y, xscale, yscale] = ["x", "y", "xscale", "yscale"].map((name) => this.part(name).value);
    const [bands, trials, bounds] = ["bands", "trials", "bounds"].map((name) => Boolean(this.part(name)?.checked));
    return { figure: number, x, y, xscale, yscale, bands, trials, bounds, hidden: this.hidden[number] };
  }

  get view() {
    const { figure, x, y } = this.show;
    return this.data.figures[figure].views[`${x} ${y}`];
  }

  /** Set up the panels of the figure and the axes that are chosen. */
  begin() {
    const show = this.show;
    const figure = this.data.figures[show.figure];
    legend(this.root.querySelector(".legend"), figure, show.hidden, () => this.redraw());
    this.root.querySelector(".title").textContent = figure.title;
    this.words();
    this.observer.disconnect();
    this.root.querySelectorAll(".plot.drawn").forEach((plot) => Plotly.purge(plot));
    const panels = this.root.querySelector(".panels");
    panels.style.setProperty("--columns", figure.columns);
    panels.classList.toggle("single", figure.panels.length === 1);
    panels.replaceChildren(...figure.panels.map((panel, number) => this.panel(panel, number)));
    panels.querySelectorAll(".plot").forEach((plot) => this.observer.observe(plot));
  }

  panel(panel, number) {
    const box = document.createElement("figure");
    box.style.gridArea = `${panel.row + 1} / ${panel.column + 1}`;
    const caption = document.createElement("figcaption");
    caption.textContent = panel.title;
    caption.hidden = !panel.title;
    const plot = document.createElement("div");
    plot.className = "plot";
    plot.dataset.panel = number;
    box.append(caption, plot);
    return box;
  }

  /** The small print, and the controls that have something to do. */
  words() {
    const notes = this.view ? [...this.view.notes] : [];
    const unproven = this.view ? this.view.unproven : [];
    const [x, y] = this.data.proven;
    const about = this.show.x === x && this.show.y === y;
    if (this.data.theory && !about) notes.push("the proven bounds are of the suboptimality over passes");
    fillList(this.root.querySelector(".notes"), notes);
    const reasons = this.root.querySelector(".unproven");
    reasons.hidden = unproven.length === 0;
    fillList(reasons.querySelector("ul"), unproven);
    const panels = this.view ? this.view.panels : [];
    if (this.data.theory) this.root.querySelector(".for-bounds").hidden = !about;
    this.root.querySelector(".for-bands").hidden = !panels.some((one) => one.curves.some((curve) => curve.length > 3));
    this.root.querySelector(".for-trials").hidden = !panels.some((one) => one.faint.length);
  }

  near(entries) {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      this.observer.unobserve(entry.target);
      this.draw(entry.target);
    }
  }

  draw(plot) {
    const show = this.show;
    const panel = this.view?.panels[Number(plot.dataset.panel)];
    const remark = panel ? panel.remark : "not measured";
    if (remark) {
      plot.className = "plot remark";
      plot.textContent = remark;
      return;
    }
    const traces = tracesOf(panel, this.data.figures[show.figure], this.data, this.arrays, show);
    plot.classList.add("drawn");
    Plotly.react(plot, traces, layoutOf(panel, this.data, show), PLOTLY);
  }

  redraw() {
    this.root.querySelectorAll(".plot.drawn").forEach((plot) => this.draw(plot));
  }

  /** Draw what nobody has scrolled to, in the size of a printed panel; afterwards return to the window's size. */
  print(begins) {
    this.root.querySelectorAll(".plot:not(.drawn, .remark)").forEach((plot) => this.draw(plot));
    const size = begins ? { autosize: false, width: 318, height: 268 } : { autosize: true, width: null, height: null };
    this.root.querySelectorAll(".plot.drawn").forEach((plot) => Plotly.relayout(plot, size));
  }
}

function fillList(list, texts) {
  const items = texts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    item.classList.toggle("caution", text.startsWith("CAUTION"));
    return item;
  });
  list.replaceChildren(...items);
}

const sections = [...document.querySelectorAll("section.experiment")];
const charts = new Map();

/** Bring an experiment to the front; it is set up when it first is. */
function open(section) {
  for (const other of sections) other.hidden = other !== section;
  if (charts.has(section)) return;
  const data = (name) => section.querySelector(`script.${name}`);
  const drawn = data("charts-data");
  charts.set(section, drawn ? new Charts(section.querySelector(".charts"), JSON.parse(drawn.textContent)) : null);
  new RunTable(section.querySelector(".runs"), JSON.parse(data("runs-data").textContent));
}

const choice = document.querySelector("#experiment");
choice?.addEventListener("change", () => open(sections[Number(choice.value)]));
for (const [event, begins] of [["beforeprint", true], ["afterprint", false]]) {
  window.addEventListener(event, () => charts.get(sections.find((one) => !one.hidden))?.print(begins));
}
open(sections[0]);
