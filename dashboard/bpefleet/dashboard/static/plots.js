// What went on over time, as lines.

import { $, put } from "./elements.js";
import { rate, size, whole } from "./format.js";
import { describe, plot, resize } from "./plots/plot.js";
import { sizeTicks, slopes, timeAxis, wholeTicks, withGaps } from "./series.js";
import { RATE_OVER, state } from "./state.js";

const RATES = { words: rate, ticks: (values) => sizeTicks(values, "/s") };
const COUNTS = { words: whole, ticks: wholeTicks, whole: true };
const SIZES = { words: size, ticks: (values) => sizeTicks(values) };
const drawn = new Map(); // by figure: what is drawn there, and the names of its lines

export function drawCourse() {
  const series = state.series, times = series.map((s) => s[0]), column = (i) => series.map((s) => s[i]);
  const rates = slopes(series.map((s) => [s[0], s[1]]), RATE_OVER);
  draw("chart-rate", RATES, rates.map(([time]) => time), [["throughput", "s0", rates.map(([, value]) => value)]]);
  draw("chart-unique", COUNTS, times, [["unique pre-tokens", "s2", column(2)]]);
  draw("chart-memory", SIZES, times, [["memory used", "s3", column(3)]]);
}
export function drawWorkerRates() {
  const { times = [], workers = [] } = state.parts.courses ?? {};
  const lines = workers.map((w) => [w.worker, slopes(w.bytes.map((bytes, i) => [times[i], bytes]), RATE_OVER)])
    .sort((a, b) => a[0] < b[0] ? -1 : 1);
  draw("chart-workers", RATES, times.slice(1), lines.map(([name, points], i) => [name, `s${i}`, points.map(([, value]) => value)]));
}
export function resizePlots() {
  for (const [id, { picture }] of drawn) resize(picture, nodeOf(id));
}
// Colours are those of the scheme at the time of drawing.
export function redrawPlots() {
  for (const id of drawn.keys()) clear(id);
  drawCourse();
  drawWorkerRates();
}

const nodeOf = (id) => $(id).querySelector(".plot");

function draw(id, axis, times, lines) {
  put($(id).querySelector("figcaption"), caption(axis, lines, times.length));
  if (times.length < 2 || !lines.length) return clear(id);
  const data = withGaps(times, ...lines.map(([, , values]) => values));
  const names = lines.map(([name]) => name).join("\n"), label = described(id, axis, lines);
  if (drawn.get(id)?.names === names) {
    drawn.get(id).picture.setData(data);
    return describe(drawn.get(id).picture, label);
  }
  clear(id);
  drawn.set(id, { names, picture: plot(nodeOf(id), {
    label, data, x: timeAxis, y: axis, latest: true,
    lines: lines.map(([name, colour]) => ({ name, colour, shape: "line" })),
  }) });
}
function clear(id) {
  drawn.get(id)?.picture.destroy();
  drawn.delete(id);
}
function caption({ words }, lines, count) {
  if (!count || !lines.length) return "nothing yet";
  if (lines.length > 1) return "those that counted most in this session";
  return `highest ${words(lines[0][2].reduce((most, value) => Math.max(most, value), 0))}`;
}
function described(id, { words }, lines) {
  return `${$(id).querySelector("h2").textContent}: ${lines.map(([name, , values]) => `${name} ${words(values.at(-1) ?? 0)}`).join(", ")}`;
}
