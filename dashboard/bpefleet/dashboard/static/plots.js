// What went on over time, as lines.

import { $, colour, put, sized } from "./elements.js";
import { rate, share, size, whole } from "./format.js";
import { RATE_OVER, state } from "./state.js";

const PLOT = { left: 78, right: 8, top: 8, bottom: 22, height: 160 };
const LEAST_GAP = 10, GAP_STEPS = 4; // seconds, and usual distances between points, that are no gap yet

export function drawCourse() {
  const series = state.series;
  const rates = slopes(series.map((s) => [s[0], s[1]]), RATE_OVER);
  const column = (i) => series.map((s) => [s[0], s[i]]);
  const latest = (points, words) => points.length
    ? `latest ${words(points.at(-1)[1])}, highest ${words(points.reduce((a, p) => Math.max(a, p[1]), 0))}` : "nothing yet";
  drawChart("chart-rate", [["s0", rates]], rate, latest(rates, rate));
  drawChart("chart-unique", [["s2", column(2)]], whole, latest(column(2), whole));
  drawChart("chart-memory", [["s3", column(3)]], size, latest(column(3), size));
}
export function drawWorkerRates() {
  const { times = [], workers = [] } = state.parts.courses ?? {};
  const lines = workers.map((w) => [w.worker, slopes(w.bytes.map((bytes, i) => [times[i], bytes]), RATE_OVER)])
    .sort((a, b) => a[0] < b[0] ? -1 : 1);
  drawChart("chart-workers", lines.map(([, points], i) => [`s${i}`, points]), rate, null);
  const keys = lines.map(([name, points], i) => {
    const key = document.createElement("span");
    key.className = `key s${i}`;
    key.textContent = `${name} ${rate(points.at(-1)?.[1] ?? 0)}`;
    return key;
  });
  const note = keys.length ? "those that counted most in this session" : "nothing yet";
  $("chart-workers").querySelector("figcaption").replaceChildren(...keys, note);
}

// Bytes per second up to each point, from the last one that is `over` seconds old or older. After a gap
// it is from the one before it: what was counted meanwhile is told within moments.
export function slopes(points, over) {
  const longest = longestStep(points), found = [];
  let from = 0, base = 0, after = -Infinity;
  for (let at = 1; at < points.length; at++) {
    while (points[at][0] - points[from + 1][0] >= over) {
      from++;
      if (points[from][0] - points[from - 1][0] > longest) [after, base] = [points[from][0], from - 1];
    }
    const start = points[from][0] - after < over ? base : from;
    const seconds = points[at][0] - points[start][0];
    found.push([points[at][0], seconds > 0 ? Math.max(0, points[at][1] - points[start][1]) / seconds : 0]);
  }
  return found;
}
function longestStep(line) {
  const steps = line.slice(1).map((point, i) => point[0] - line[i][0]).sort((a, b) => a - b);
  return Math.max(LEAST_GAP, GAP_STEPS * (steps[Math.floor(steps.length / 2)] ?? 0));
}

function drawChart(id, lines, words, caption) {
  const figure = $(id), canvas = figure.querySelector("canvas");
  if (caption !== null) put(figure.querySelector("figcaption"), caption);
  canvas.setAttribute("aria-label", `${figure.querySelector("h2").textContent}${caption ? `: ${caption}` : ""}`);
  const points = lines.flatMap((line) => line[1]);
  const [context, width] = sized(canvas, PLOT.height);
  if (points.length < 2) return;
  let first = Infinity, last = -Infinity, most = 0;
  for (const [t, v] of points) {
    first = Math.min(first, t); last = Math.max(last, t); most = Math.max(most, v);
  }
  const top = ceiling(most), right = width - PLOT.right, base = PLOT.height - PLOT.bottom;
  const x = (t) => PLOT.left + (right - PLOT.left) * share(t - first, last - first);
  const y = (v) => base - (base - PLOT.top) * v / top;
  drawAxes(context, { y, top, most, first, last, right, base }, words);
  for (const [name, line] of lines) {
    for (const part of unbroken(line)) stroke(context, colour(name), part.map(([t, v]) => [x(t), y(v)]));
  }
}
// A line's parts between its gaps: where nothing was noted nothing is known, and nothing is drawn.
export function unbroken(line) {
  const longest = longestStep(line), parts = [[]];
  line.forEach((point, i) => {
    if (i && point[0] - line[i - 1][0] > longest) parts.push([]);
    parts.at(-1).push(point);
  });
  return parts;
}
// The least of 1, 2, 2.5, 5, 10 times a power of ten that is enough.
function ceiling(most) {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * [1, 2, 2.5, 5, 10].find((step) => step * power >= most);
}
function drawAxes(context, at, words) {
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = colour("soft");
  context.strokeStyle = colour("line");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const v of at.most ? [0, at.top / 2, at.top] : [0]) {
    context.beginPath();
    context.moveTo(PLOT.left, at.y(v)); context.lineTo(at.right, at.y(v));
    context.stroke();
    context.fillText(words(v), PLOT.left - 8, at.y(v));
  }
  const clock = (t) => new Date(t * 1000).toLocaleTimeString("en-GB");
  context.textBaseline = "top";
  context.fillText(clock(at.last), at.right, at.base + 6);
  context.textAlign = "left";
  context.fillText(clock(at.first), PLOT.left, at.base + 6);
}
function stroke(context, style, points) {
  context.strokeStyle = style;
  context.lineWidth = 2;
  context.lineJoin = context.lineCap = "round"; // a point between two gaps shows as a dot
  context.beginPath();
  context.moveTo(...points[0]);
  for (const point of points) context.lineTo(...point);
  context.stroke();
}
