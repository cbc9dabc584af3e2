// The legend: a button per method, with its line as the panels draw it.

const SVG = "http://www.w3.org/2000/svg";
const OUTLINES = {
  o: "M-3.4,0a3.4,3.4 0 1,0 6.8,0a3.4,3.4 0 1,0 -6.8,0Z", s: "M-3,-3H3V3H-3Z", "^": "M0,-4L3.7,2.6H-3.7Z",
  v: "M0,4L3.7,-2.6H-3.7Z", "<": "M-4,0L2.6,3.7V-3.7Z", ">": "M4,0L-2.6,3.7V-3.7Z", D: "M0,-4L4,0L0,4L-4,0Z",
  P: "M-1.3,-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z",
  d: "M0,-4.4L2.6,0L0,4.4L-2.6,0Z", p: "M0,-4L3.8,-1.2L2.4,3.2H-2.4L-3.8,-1.2Z", h: "M0,-4L3.5,-2V2L0,4L-3.5,2V-2Z",
  "*": "M0,-4.6L1.1,-1.4L4.4,-1.4L1.7,.6L2.7,3.8L0,1.8L-2.7,3.8L-1.7,.6L-4.4,-1.4L-1.1,-1.4Z",
  X: "M0,-1.7L2.3,-4L4,-2.3L1.7,0L4,2.3L2.3,4L0,1.7L-2.3,4L-4,2.3L-1.7,0L-4,-2.3L-2.3,-4Z",
};

/** Fill `place` with a button per series. `hidden`: the Set of those not shown; `changed` is called after a change. */
function legend(place, figure, hidden, changed) {
  const buttons = figure.series.map((style, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(swatch(style), document.createTextNode(style.name));
    button.addEventListener("click", (event) => (event.shiftKey ? alone(number) : toggle(number)));
    button.addEventListener("dblclick", () => alone(number));
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        alone(number);
      }
    });
    return button;
  });
  const every = document.createElement("button");
  every.type = "button";
  every.className = "every";
  every.textContent = "show all";
  every.addEventListener("click", () => {
    hidden.clear();
    update();
  });

  function toggle(number) {
    if (!hidden.delete(number)) hidden.add(number);
    update();
  }

  function alone(number) {
    buttons.forEach((_, other) => (other === number ? hidden.delete(other) : hidden.add(other)));
    update();
  }

  function update() {
    buttons.forEach((button, number) => button.setAttribute("aria-pressed", String(!hidden.has(number))));
    every.hidden = hidden.size === 0;
    changed();
  }

  place.replaceChildren(...buttons, every);
  buttons.forEach((button, number) => button.setAttribute("aria-pressed", String(!hidden.has(number))));
  every.hidden = hidden.size === 0;
}

function swatch(style) {
  const drawn = document.createElementNS(SVG, "svg");
  for (const [key, value] of [["width", 40], ["height", 12], ["viewBox", "-20 -6 40 12"], ["aria-hidden", "true"]]) {
    drawn.setAttribute(key, value);
  }
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", "M-20,0H20");
  line.setAttribute("stroke", style.color);
  line.setAttribute("stroke-width", 1.3 * style.width);
  line.setAttribute("stroke-dasharray", style.dash.join(" "));
  drawn.append(line);
  if (style.marker) {
    const marker = document.createElementNS(SVG, "path");
    marker.setAttribute("d", OUTLINES[style.marker] || OUTLINES.o);
    marker.setAttribute("fill", style.color);
    drawn.append(marker);
  }
  return drawn;
}
