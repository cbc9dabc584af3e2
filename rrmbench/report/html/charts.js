"use strict";
// From the data of an experiment to the traces and the layout that Plotly draws. Nothing here touches the page.

const SYMBOLS = {
  o: "circle", s: "square", "^": "triangle-up", D: "diamond", v: "triangle-down", P: "cross", X: "x",
  "<": "triangle-left", ">": "triangle-right", p: "pentagon", h: "hexagon", "*": "star", d: "diamond-tall",
};

/** The arrays of an experiment, each decoded when it is first drawn. */
class Arrays {
  constructor(texts) {
    this.texts = texts;
    this.known = new Map();
  }

  get(number) {
    if (!this.known.has(number)) {
      const bytes = Uint8Array.from(atob(this.texts[number]), (one) => one.charCodeAt(0));
      this.known.set(number, Array.from(new Float64Array(bytes.buffer)));
    }
    return this.known.get(number);
  }
}

/** A text as Plotly shows it letter by letter: it reads some tags in what it is given. */
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The traces of a panel. `show` says what is drawn: x, y, hidden (a Set of series), bands, trials, bounds. */
function tracesOf(panel, figure, data, arrays, show) {
  const visible = ([series]) => !show.hidden.has(series);
  const curves = panel.curves.filter(visible);
  const along = (number) => entering(arrays.get(number), panel, show);
  const traces = [];
  if (show.bands && curves.length <= data.most_bands) {
    traces.push(...curves.filter((one) => one.length > 3).map((one) => band(one, figure, arrays, along)));
  }
  if (show.trials) traces.push(...trials(panel.faint.filter(visible), figure, arrays, along));
  if (show.bounds) traces.push(...panel.proven.filter(visible).map((one) => bound(one, figure, arrays, along, show)));
  traces.push(...curves.map((one) => line(one, figure, arrays, along, show)));
  return traces;
}

/** x as it is drawn: on a logarithmic axis, the start at 0 enters at the left. */
function entering(x, panel, show) {
  if (show.xscale !== "log" || !panel.frame || x[0] > 0) return x;
  const left = panel.frame.x[0] > 0 ? panel.frame.x[0] : Math.min(...x.filter((value) => value > 0)) / 1.3;
  return x.map((value) => (value > 0 ? value : left));
}

function line(curve, figure, arrays, along, show) {
  const [series, ...numbers] = curve;
  const style = figure.series[series];
  const [x, y, low, high] = numbers.map((number) => arrays.get(number));
  const symbol = SYMBOLS[style.marker] || "circle";
  const lone = x.length === 1;
  return {
    name: plain(style.name), x: along(numbers[0]), y,
    text: x.map((_, i) => exact(style.name, show, x[i], y[i], low && [low[i], high[i]])),
    hoverinfo: "text", mode: style.marker || lone ? "lines+markers" : "lines",
    line: { color: style.color, width: 1.3 * style.width, dash: dashOf(style) },
    marker: { symbol, color: style.color, size: 7, maxdisplayed: lone ? 0 : 7 },
    meta: { series, part: "curve" },
  };
}

function exact(name, show, x, y, quartiles) {
  const between = quartiles ? `<br>quartiles: ${quartiles[0]} to ${quartiles[1]}` : "";
  return `<b>${plain(name)}</b><br>${show.x}: ${x}<br>${show.y}: ${y}${between}`;
}

function band([series, x, , low, high], figure, arrays, along) {
  return {
    x: [...along(x), ...[...along(x)].reverse()], y: [...arrays.get(low), ...[...arrays.get(high)].reverse()],
    mode: "lines", fill: "toself", fillcolor: figure.series[series].color, opacity: 0.18, line: { width: 0 },
    hoverinfo: "skip", meta: { series, part: "band" },
  };
}

/** The trials of a series as one trace with gaps: a thousand traces would be slow. */
function trials(faint, figure, arrays, along) {
  const bySeries = new Map();
  for (const [series, x, y] of faint) {
    if (!bySeries.has(series)) bySeries.set(series, { x: [], y: [], count: 0 });
    const all = bySeries.get(series);
    all.x = all.x.concat(along(x), [null]);
    all.y = all.y.concat(arrays.get(y), [null]);
    all.count += 1;
  }
  return [...bySeries].map(([series, all]) => ({
    x: all.x, y: all.y, mode: "lines", hoverinfo: "skip", opacity: Math.min(0.4, Math.max(0.12, 10 / all.count)),
    line: { color: figure.series[series].color, width: 0.8 }, meta: { series, part: "trials" },
  }));
}

function bound([series, x, y, joined], figure, arrays, along, show) {
  const style = figure.series[series];
  const [passes, values] = [arrays.get(x), arrays.get(y)];
  return {
    x: along(x), y: values, mode: joined ? "lines" : "markers", marker: { color: style.color, size: 3 },
    line: { color: style.color, width: 1.4, dash: "1px,3px" }, hoverinfo: "text",
    text: passes.map((_, i) => exact(`proven: ${style.name}`, show, passes[i], values[i])),
    meta: { series, part: "bound" },
  };
}

function dashOf(style) {
  return style.dash.length ? style.dash.map((length) => `${length}px`).join(",") : "solid";
}

/** The layout of a panel; the range is that of `rrmbench plot` where the scales are. */
function layoutOf(panel, data, show) {
  const axis = {
    gridcolor: "#e3e5e8", linecolor: "#555d66", ticks: "outside", ticklen: 4, exponentformat: "power", zeroline: false,
    automargin: true, nticks: 6,
  };
  const framed = (name) => (show[`${name}scale`] === data[name][show[name]]?.[1] ? panel.frame?.[name] : null);
  return {
    margin: { l: 62, r: 14, t: 28, b: 46 }, hovermode: "closest", showlegend: false, dragmode: "zoom",
    font: { family: "system-ui, sans-serif", size: 12, color: "#1b1f23" },
    hoverlabel: { align: "left", namelength: -1, bgcolor: "#fff", font: { color: "#1b1f23" } },
    xaxis: { ...axis, type: show.xscale, title: title(data.x[show.x][0]), ...range(framed("x"), show.xscale, "tozero") },
    yaxis: { ...axis, type: show.yscale, title: title(data.y[show.y][0]), ...range(framed("y"), show.yscale, "normal") },
    shapes: [...floor(panel, show), ...optimum(panel)],
    uirevision: [show.figure, show.x, show.y, show.xscale, show.yscale].join(" "),
  };
}

function title(text) {
  return { text: plain(text || ""), font: { size: 12 }, standoff: 6 };
}

function range(ends, scale, rangemode) {
  if (!ends || (scale === "log" && Math.min(...ends) <= 0)) return { autorange: true, rangemode };
  return { range: scale === "log" ? ends.map(Math.log10) : ends };
}

/** Grey, below the certified accuracy of the reference optimum. */
function floor(panel, show) {
  if (!panel.floor || show.yscale !== "log") return [];
  const ends = { x0: 0, x1: 1, xref: "x domain", yref: "y", y0: panel.floor / 1e6, y1: panel.floor };
  return [{ type: "rect", ...ends, fillcolor: "#d0d0d0", line: { width: 0 }, layer: "below" }];
}

function optimum(panel) {
  if (panel.optimum === null) return [];
  const ends = { x0: 0, x1: 1, xref: "x domain", yref: "y", y0: panel.optimum, y1: panel.optimum };
  return [{ type: "line", ...ends, line: { color: "#000", width: 1.4, dash: "6px,3px" }, layer: "below" }];
}
