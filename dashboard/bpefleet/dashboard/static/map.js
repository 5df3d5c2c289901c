// The map of chunks, its legend, and the chunk that is picked.

import { $, colour, put, sized } from "./elements.js";
import { whole } from "./format.js";
import { chunksIn, state } from "./state.js";

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
  const canvas = $("map"), count = state.cells.length;
  const width = canvas.clientWidth;
  if (!count || !width) return;
  let cell = 18;
  while (cell > 2 && Math.ceil(count / Math.floor(width / cell)) * cell > 260) cell--;
  const columns = Math.floor(width / cell), gap = cell > 5 ? 2 : cell > 3 ? 1 : 0;
  Object.assign(map, { cell, columns });
  canvas.style.height = `${Math.ceil(count / columns) * cell}px`;
  const [context] = sized(canvas, Math.ceil(count / columns) * cell);
  const colours = Object.fromEntries(Object.entries(STATES).map(([letter, name]) => [letter, colour(name)]));
  const card = colour("card"), span = chunksIn(state.cells[0]);
  put($("map-span"), span > 1 ? `A cell stands for ${whole(span)} chunks: the colours show their shares, and half of it at least is a failed one's.` : "");
  for (let i = 0; i < count; i++) {
    const x = (i % columns) * cell, y = Math.floor(i / columns) * cell, side = cell - gap;
    paint(context, state.cells[i], colours, x, y, side);
    if (cell > 7) mark(context, state.cells[i], x, y, side, card);
  }
}
// The shares of the states, one above the other; of a failed chunk among many enough to be seen.
function paint(context, counts, colours, x, y, side) {
  const parts = Object.entries(counts), all = chunksIn(counts);
  let top = y;
  for (const [letter, count] of parts) {
    context.fillStyle = colours[letter];
    context.fillRect(x, top, side, side * count / all);
    top += side * count / all;
  }
  if (!counts.f) return;
  const height = side * Math.max(counts.f / all, 0.5);
  context.fillStyle = colours.f;
  context.fillRect(x, y + side - height, side, height);
}
// Not by colour alone: a cell with a failed chunk is crossed, one with a running chunk has a hole.
function mark(context, counts, x, y, side, card) {
  if (counts.f) {
    context.strokeStyle = card;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x + 2, y + 2); context.lineTo(x + side - 2, y + side - 2);
    context.moveTo(x + side - 2, y + 2); context.lineTo(x + 2, y + side - 2);
    context.stroke();
  } else if (counts.r) {
    context.fillStyle = card;
    context.fillRect(x + side / 3, y + side / 3, side / 3, side / 3);
  }
}

export function drawPicked() {
  const input = $("pick"), chunk = Number(input.value), count = state.cells.length ? state.parts.head.chunks : 0;
  input.max = Math.max(0, count - 1);
  if (!Number.isInteger(chunk) || chunk < 0 || chunk >= count) return put($("picked"), count ? `chunks are 0 to ${count - 1}` : "");
  const running = (state.parts.running ?? []).find((r) => r.chunk === chunk);
  const failed = (state.parts.failed ?? []).find((f) => f.chunk === chunk);
  const more = running ? `: ${running.what} on ${running.worker}` : failed ? `: ${failed.what}: ${failed.error}` : "";
  put($("picked"), `${running ? "running" : failed ? "failed" : stateOf(chunk, count)}${more}`);
}
function stateOf(chunk, count) {
  const span = chunksIn(state.cells[0]), first = Math.floor(chunk / span) * span;
  const states = Object.entries(state.cells[first / span] ?? {});
  if (states.length === 1) return STATES[states[0][0]];
  const last = Math.min(first + span, count) - 1;
  return `of chunks ${first} to ${last} ${states.map(([letter, n]) => `${whole(n)} ${STATES[letter]}`).join(", ")}`;
}
function pickAt(event) {
  const box = $("map").getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / map.cell), row = Math.floor((event.clientY - box.top) / map.cell);
  const at = row * map.columns + column;
  if (column < map.columns && at < state.cells.length) {
    $("pick").value = at * chunksIn(state.cells[0]);
    drawPicked();
  }
}
export function listenToMap() {
  $("pick").addEventListener("input", drawPicked);
  $("map").addEventListener("click", pickAt);
  $("map").addEventListener("mousemove", pickAt);
}
