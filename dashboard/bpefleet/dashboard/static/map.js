// The map of chunks, its legend, and the chunk that is picked.

import { $, colour, put, sized } from "./elements.js";
import { whole } from "./format.js";
import { state } from "./state.js";

const STATES = { c: "counted", r: "running", q: "queued", w: "waiting", f: "failed" };
const map = { cell: 0, columns: 0 };

export function drawLegend(head) {
  const counts = { counted: head.counted, running: head.running, queued: head.queued, waiting: head.waiting, failed: head.failed };
  const list = $("legend");
  if (!list.firstChild) {
    for (const name of Object.keys(counts)) list.append(Object.assign(document.createElement("li"), { className: name }));
  }
  Object.entries(counts).forEach(([name, count], i) => { put(list.children[i], `${name} ${whole(count)}`); });
}

export function drawMap() {
  const canvas = $("map"), count = state.codes.length;
  const width = canvas.clientWidth;
  if (!count || !width) return;
  let cell = 18;
  while (cell > 2 && Math.ceil(count / Math.floor(width / cell)) * cell > 260) cell--;
  const columns = Math.floor(width / cell), gap = cell > 5 ? 2 : cell > 3 ? 1 : 0;
  Object.assign(map, { cell, columns });
  canvas.style.height = `${Math.ceil(count / columns) * cell}px`;
  const [context] = sized(canvas, Math.ceil(count / columns) * cell);
  const colours = Object.fromEntries(Object.entries(STATES).map(([letter, name]) => [letter, colour(name)]));
  const card = colour("card");
  for (let i = 0; i < count; i++) {
    const x = (i % columns) * cell, y = Math.floor(i / columns) * cell;
    context.fillStyle = colours[state.codes[i]] ?? card;
    context.fillRect(x, y, cell - gap, cell - gap);
    if (cell > 7) mark(context, state.codes[i], x, y, cell - gap, card);
  }
}
// Not by colour alone: a failed chunk is crossed, a running one has a hole.
function mark(context, letter, x, y, side, card) {
  if (letter === "r") {
    context.fillStyle = card;
    context.fillRect(x + side / 3, y + side / 3, side / 3, side / 3);
  } else if (letter === "f") {
    context.strokeStyle = card;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x + 2, y + 2); context.lineTo(x + side - 2, y + side - 2);
    context.moveTo(x + side - 2, y + 2); context.lineTo(x + 2, y + side - 2);
    context.stroke();
  }
}

export function drawPicked() {
  const input = $("pick"), chunk = Number(input.value), count = state.codes.length;
  input.max = Math.max(0, count - 1);
  if (!Number.isInteger(chunk) || chunk < 0 || chunk >= count) return put($("picked"), count ? `chunks are 0 to ${count - 1}` : "");
  const running = (state.parts.running ?? []).find((r) => r.chunk === chunk);
  const failed = (state.parts.failed ?? []).find((f) => f.chunk === chunk);
  const more = running ? `: ${running.what} on ${running.worker}` : failed ? `: ${failed.what}: ${failed.error}` : "";
  put($("picked"), `${STATES[state.codes[chunk]]}${more}`);
}
function pickAt(event) {
  const box = $("map").getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / map.cell), row = Math.floor((event.clientY - box.top) / map.cell);
  const chunk = row * map.columns + column;
  if (column < map.columns && chunk < state.codes.length) {
    $("pick").value = chunk;
    drawPicked();
  }
}
export function listenToMap() {
  $("pick").addEventListener("input", drawPicked);
  $("map").addEventListener("click", pickAt);
  $("map").addEventListener("mousemove", pickAt);
}
