"use strict";
// Scales, ticks and shapes of the figures.
const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A regular figure of n corners, every second one at `inner` of the radius where that is given.
function polygon(n, turn, inner = 0) {
  const corners = inner ? 2 * n : n;
  return [...Array(corners)].map((_, i) => {
    const [angle, radius] = [turn + (2 * Math.PI * i) / corners, inner && i % 2 ? inner : 1];
    return [radius * Math.sin(angle), -radius * Math.cos(angle)];
  });
}
const cross = [[-.35, -1], [.35, -1], [.35, -.35], [1, -.35], [1, .35], [.35, .35], [.35, 1], [-.35, 1], [-.35, .35], [-1, .35], [-1, -.35], [-.35, -.35]];
const turned = (points) => points.map(([x, y]) => [(x - y) * .78, (x + y) * .78]);
// In the order of hashbench.report.looks.MARKERS: o s ^ D v P X < > p h * d
const SHAPES = [polygon(24, 0), polygon(4, Math.PI / 4), polygon(3, 0), polygon(4, 0), polygon(3, Math.PI), cross, turned(cross),
  polygon(3, -Math.PI / 2), polygon(3, Math.PI / 2), polygon(5, 0), polygon(6, 0), polygon(5, 0, .42), polygon(4, 0).map(([x, y]) => [.6 * x, y])];

function marker(model, x, y, size = 4.5) {
  const [colour, shape, filled] = DATA.looks[model] ?? [0, 0, 0];
  const points = SHAPES[shape].map(([a, b]) => `${(x + size * a).toFixed(2)},${(y + size * b).toFixed(2)}`).join(" ");
  const tone = `var(--m${colour})`;
  return svg("polygon", { points, class: "mark", style: `stroke:${tone};fill:${filled ? tone : "var(--ground)"}` });
}
const toneOf = (model) => `var(--m${(DATA.looks[model] ?? [0])[0]})`;

// Round numbers from low to high, about n of them.
function ticks(low, high, n) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}

function logTicks(low, high) {
  const wide = Math.log10(high / low) > 2;
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const digit of wide ? [1] : [1, 2, 5]) if (digit * 10 ** power >= low && digit * 10 ** power <= high) found.push(digit * 10 ** power);
  return found;
}

// From values to pixels. A logarithmic scale with zeros gives these a place of their own at the left.
function scale(values, from, to, { log = false, pad = .06, zero = false } = {}) {
  const positive = values.filter((value) => value > 0);
  if (log && positive.length) {
    const gap = positive.length < values.length ? 26 : 0;
    const [low, high] = [Math.min(...positive) / 1.6, Math.max(...positive) * 1.6];
    const place = (value) => (value > 0 ? from + gap + ((to - from - gap) * Math.log(value / low)) / Math.log(high / low) : from + gap / 3);
    return { place, ticks: [...(gap ? [0] : []), ...logTicks(low, high)] };
  }
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (zero) low = Math.min(low, 0);
  const room = (high - low || 1) * pad;
  [low, high] = [low - room, high + room];
  return { place: (value) => from + ((to - from) * (value - low)) / (high - low), ticks: ticks(low, high, Math.max(3, Math.abs(to - from) / 58)), low, high };
}

function said(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}K`;
  return String(Number(value.toPrecision(4)));
}

// A frame with both axes; returns the drawing and the two scales' places.
function frame(width, height, xs, ys, labels, options) {
  const [left, right, top, bottom] = [44, width - 8, 8, height - 34];
  const x = scale(xs, left + 4, right, options);
  const y = scale(ys, bottom, top, {});
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": labels.all });
  for (const value of y.ticks) drawing.append(svg("line", { x1: left, x2: right, y1: y.place(value), y2: y.place(value), class: "grid" }),
    write(left - 6, y.place(value) + 4, said(value), "end"));
  for (const value of x.ticks) drawing.append(svg("line", { x1: x.place(value), x2: x.place(value), y1: bottom, y2: bottom + 4, class: "axis" }),
    write(x.place(value), bottom + 16, said(value), "middle"));
  drawing.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }),
    write((left + right) / 2, height - 3, labels.x, "middle"), write(2, top + 2, labels.y, "start", "label-y"));
  return { drawing, x: x.place, y: y.place, left, right, top, bottom, yRange: [y.low, y.high] };
}

function write(x, y, words, anchor, kind = "") {
  const element = svg("text", { x, y, "text-anchor": anchor, class: kind });
  element.textContent = words;
  return element;
}
