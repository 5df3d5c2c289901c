// What is plotted over time: rates, gaps, and the texts of axes.

import { clock, whole } from "./format.js";

const LEAST_GAP = 10, GAP_STEPS = 4; // seconds, and usual distances between points, that are no gap yet
const UNITS = ["B", "kB", "MB", "GB", "TB"];

// Bytes per second up to each point, from the last one that is `over` seconds old or older. After a gap
// it is from the one before it: what was counted meanwhile is told within moments.
export function slopes(points, over) {
  const longest = longestStep(points.map(([time]) => time)), found = [];
  let from = 0, base = 0, after = Number.NEGATIVE_INFINITY;
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
function longestStep(times) {
  const steps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  return Math.max(LEAST_GAP, GAP_STEPS * (steps[Math.floor(steps.length / 2)] ?? 0));
}
// Times and the lines above them, with a null in each line where nothing was noted for long: there
// nothing is known, and nothing is drawn.
export function withGaps(times, ...lines) {
  const longest = longestStep(times), found = [[], ...lines.map(() => [])];
  times.forEach((time, i) => {
    if (i && time - times[i - 1] > longest) {
      found[0].push((times[i - 1] + time) / 2);
      for (const line of found.slice(1)) line.push(null);
    }
    found[0].push(time);
    lines.forEach((line, j) => { found[j + 1].push(line[i]); });
  });
  return found;
}

// The texts of an axis: all in the unit of the greatest, and as exact as its steps are.
export function sizeTicks(values, end = "") {
  const most = Math.max(...values), step = values.length > 1 ? values[1] - values[0] : most;
  let unit = 0;
  while (unit < UNITS.length - 1 && most >= 1000 ** (unit + 1)) unit++;
  const digits = Math.max(0, -Math.floor(Math.log10((step || 1) / 1000 ** unit) + 1e-9));
  return values.map((value) => value ? `${(value / 1000 ** unit).toFixed(digits)} ${UNITS[unit]}${end}` : "0");
}
export const wholeTicks = (values) => values.map(whole);
// Times of day, and dates where the steps are days or a day begins.
export function timeTicks(values, step) {
  return values.map((value) => {
    const then = new Date(value * 1000), day = { day: "numeric", month: "short" };
    if (step >= 86_400 || then.getHours() + then.getMinutes() + then.getSeconds() === 0) return then.toLocaleDateString("en-GB", day);
    return then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(step < 60 && { second: "2-digit" }) });
  });
}
export const timeAxis = { name: "time", scale: "time", words: clock, ticks: timeTicks };
