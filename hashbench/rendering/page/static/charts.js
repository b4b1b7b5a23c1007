"use strict";
// The figures, drawn to the width there is; hovering reads a point, the legend holds a model.
const tip = document.getElementById("tip");

function series(model, ...parts) {
  return svg("g", { class: "series", "data-model": model }, ...parts);
}

// Points of a Pareto figure with their names where there is room.
function drawPoints(chart, panel, width) {
  const height = Math.min(430, Math.max(280, width * .62));
  const floors = chart.floors.map(([, value]) => value);
  const scores = panel.points.flatMap(([, , , score, spread]) => [score - spread, score + spread]);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const shown = chart.floors.filter(([, value]) => value >= low - (high - low) * .6 && value <= high + (high - low) * .6);
  const axes = frame(width, height, panel.points.map(([, , cost]) => cost), [...scores, ...shown.map(([, value]) => value)],
    { x: panel.x, y: "", all: `${chart.title}: ${chart.y} against ${panel.x}, ${panel.points.length} models` }, { log: panel.log, pad: .12 });
  const { drawing, x, y } = axes;
  for (const [name, value] of shown) drawing.append(svg("line", { x1: axes.left, x2: axes.right, y1: y(value), y2: y(value), class: "floor" }),
    write(axes.right, y(value) - 4, `${name} ${value.toFixed(1)}`, "end"));
  const best = panel.front.map((name) => panel.points.find((point) => point[0] === name));
  const corners = best.map(([, , cost, score], place) => `${place ? `H${x(cost)}V` : `M${x(cost)},`}${y(score)}`).join("");
  drawing.append(svg("path", { d: `${corners}H${axes.right}`, class: "front" }));
  const targets = [];
  const taken = panel.points.map(([, , cost, score]) => [x(cost) - 7, y(score) - 7, x(cost) + 7, y(score) + 7]);
  best.forEach(([, , cost, score], place) => { // names do not cross the front
    const until = best[place + 1] ? x(best[place + 1][2]) : axes.right;
    taken.push([x(cost), y(score) - 1, until, y(score) + 1]);
    if (best[place + 1]) taken.push([until - 1, y(best[place + 1][3]), until + 1, y(score)]);
  });
  for (const [name, model, cost, score, spread] of panel.points) {
    const group = series(model, marker(model, x(cost), y(score), 5.5));
    if (spread) group.prepend(svg("line", { x1: x(cost), x2: x(cost), y1: y(score - spread), y2: y(score + spread), style: `stroke:${toneOf(model)}` }));
    const label = nameBeside(name, x(cost), y(score), taken, axes);
    if (label) group.append(label);
    drawing.append(group);
    targets.push({ model, x: x(cost), y: y(score), lines: [`${chart.y.replace(", percent", "")}: ${score.toFixed(2)}${spread ? ` ± ${spread.toFixed(2)}` : ""}`, `${panel.x}: ${said(cost)}`], name });
  }
  return { drawing, targets };
}

// A name at the right or left of its point where it covers nothing, else none: the read-out has it.
function nameBeside(name, x, y, taken, axes) {
  const wide = 6.1 * name.length;
  for (const down of [4, -8, 16, -20, 28]) for (const side of [1, -1]) {
    const from = side > 0 ? x + 10 : x - 10 - wide;
    const box = [from, y + down - 10, from + wide, y + down + 3];
    if (box[0] < axes.left || box[2] > axes.right + 4 || box[1] < axes.top || box[3] > axes.bottom) continue;
    if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
    taken.push(box);
    return write(side > 0 ? x + 10 : x - 10, y + down, name, side > 0 ? "start" : "end", "label");
  }
  return null;
}

function drawLines(chart, panel, width) {
  const height = Math.max(190, width * .62);
  const values = panel.lines.flatMap(([, , means, spread]) => means.flatMap((mean, i) => (spread.length ? [mean - spread[i], mean + spread[i]] : [mean])));
  const { drawing, x, y } = frame(width, height, panel.lines.flatMap(([, places]) => places), values,
    { x: chart.x, y: "", all: `${chart.title}: ${panel.title}, ${panel.lines.length} models` }, { pad: .02 });
  const targets = [];
  for (const [model, places, means, spread] of panel.lines) {
    const way = (heights) => places.map((place, i) => `${x(place).toFixed(1)},${y(heights[i]).toFixed(1)}`);
    const group = series(model, svg("polyline", { points: way(means).join(" "), class: "line", style: `stroke:${toneOf(model)}` }));
    if (spread.length) {
      const [upper, lower] = [means.map((mean, i) => mean + spread[i]), means.map((mean, i) => mean - spread[i])];
      group.prepend(svg("polygon", { points: [...way(upper), ...way(lower).reverse()].join(" "), class: "band", style: `fill:${toneOf(model)}` }));
    }
    const every = Math.max(1, Math.floor(places.length / 5));
    places.forEach((place, i) => {
      if (i % every === 0) group.append(marker(model, x(place), y(means[i]), 3.4));
      targets.push({ model, name: model, x: x(place), y: y(means[i]), lines: [`${panel.y.replace(", percent", "")}: ${means[i].toPrecision(4)}${spread.length ? ` ± ${spread[i].toPrecision(2)}` : ""}`, `${chart.x}: ${said(place)}`] });
    });
    drawing.append(group);
  }
  return { drawing, targets };
}

// Brings one model to the front in all panels of a figure; null: none.
function hold(figure, model) {
  figure.classList.toggle("dim", model !== null);
  for (const group of figure.querySelectorAll(".series")) group.classList.toggle("on", group.dataset.model === model);
}
const held = (figure) => figure.querySelector('.legend [aria-pressed="true"]')?.dataset.model ?? null;

function readOut(figure, drawing, targets, width) {
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const ratio = width / box.width;
    const [px, py] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    const only = held(figure);
    let [best, least] = [null, 34];
    for (const target of targets) {
      const away = Math.hypot(target.x - px, target.y - py);
      if (away < least && (only === null || target.model === only)) [best, least] = [target, away];
    }
    tip.hidden = best === null;
    if (only === null) hold(figure, best?.model ?? null);
    if (best === null) return;
    const name = document.createElement("b");
    name.textContent = best.name;
    tip.replaceChildren(name, ...best.lines.flatMap((line, i) => (i ? [document.createElement("br"), line] : [line])));
    const at = [box.left + best.x / ratio + 12, box.top + best.y / ratio + 12];
    tip.style.left = `${Math.max(4, Math.min(at[0], innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.min(at[1], innerHeight - tip.offsetHeight - 8)}px`;
  });
  drawing.addEventListener("pointerleave", () => {
    tip.hidden = true;
    hold(figure, held(figure));
  });
}

function legend(figure, chart) {
  const models = [...new Set(chart.panels.flatMap((panel) => (panel.lines ?? panel.points.map((point) => [point[1]])).map(([model]) => model)))];
  for (const model of models) {
    const button = make("button", { type: "button", "aria-pressed": "false", "data-model": model }, svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, marker(model, 0, 0, 5)), model);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      for (const other of figure.querySelectorAll(".legend button")) other.setAttribute("aria-pressed", String(other === button && on));
      hold(figure, on ? model : null);
    });
    figure.querySelector(".legend").append(button);
  }
}

function draw(figure, chart) {
  const grid = figure.querySelector(".panels");
  grid.style.setProperty("--least", chart.kind === "points" ? "26rem" : "16rem");
  const boxes = chart.panels.map((panel) => make("div", { class: "panel" }, make("p", { class: "panel-title" }, panel.title, make("span", { class: "sub" }, panel.y ?? chart.y))));
  grid.replaceChildren(...boxes);
  const widths = boxes.map((box) => Math.max(240, box.clientWidth)); // all read before anything is written
  boxes.forEach((box, place) => {
    const { drawing, targets } = (chart.kind === "points" ? drawPoints : drawLines)(chart, chart.panels[place], widths[place]);
    box.append(drawing);
    readOut(figure, drawing, targets, widths[place]);
  });
  hold(figure, held(figure));
}

// A figure is drawn when it comes near the window, and again when its width changes; all of them before printing.
for (const chart of DATA.charts) {
  const figure = document.getElementById(chart.id);
  let width = 0;
  const redraw = () => {
    if (figure.clientWidth === width) return;
    width = figure.clientWidth;
    draw(figure, chart);
  };
  legend(figure, chart);
  figure.style.minHeight = "18rem";
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    redraw();
    new ResizeObserver(() => requestAnimationFrame(redraw)).observe(figure);
  }, { rootMargin: "600px" });
  near.observe(figure);
  addEventListener("beforeprint", redraw);
}
