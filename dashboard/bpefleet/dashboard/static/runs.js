// The list of all runs.

import { $, badge, fill, put } from "./elements.js";
import { percent, rate, share, span, took, whole } from "./format.js";
import { ago, elapsed, isCounting, nameOf, stageOf, state } from "./state.js";

export function drawAll() {
  const heads = state.order.map((run) => state.runs.get(run)).filter(Boolean);
  $("none").hidden = heads.length > 0;
  $("runs").hidden = heads.length === 0;
  fill($("runs"), heads.map((head) => [head.run, [
    (cell) => runLink(cell, head),
    (cell) => stageBadge(cell, head),
    (cell) => bar(cell, head),
    `${whole(head.counted)} of ${whole(head.chunks)}`,
    whole(head.failed),
    isCounting(head) ? rate(head.rate) : "",
    head.ended === null ? span(elapsed(head)) : took(elapsed(head)),
    head.eta === null || head.holding ? "" : span(head.eta),
    isCounting(head) ? whole(head.workers) : "",
    ago(head.updated),
  ]]));
}
function runLink(cell, head) {
  const directory = head.directory;
  if (cell.dataset.directory === directory) return;
  cell.dataset.directory = directory;
  const box = document.createElement("div"), link = document.createElement("a"), where = document.createElement("div");
  link.href = `/runs/${encodeURIComponent(head.run)}`;
  link.textContent = nameOf(directory);
  where.className = "hint";
  where.textContent = `${head.run} · ${directory}`;
  box.append(link, where);
  cell.replaceChildren(box);
}
function stageBadge(cell, head) {
  const [text, kind] = stageOf(head);
  if (cell.textContent !== text) cell.replaceChildren(badge(text, kind));
}
function bar(cell, head) {
  if (!cell.firstChild) {
    const progress = document.createElement("progress"), box = document.createElement("span");
    progress.setAttribute("aria-label", `Text counted of ${nameOf(head.directory)}, run ${head.run}`);
    box.append(progress, document.createElement("span"));
    cell.append(box);
  }
  const [progress, text] = cell.firstChild.children;
  progress.value = share(head.bytes_counted, head.bytes);
  put(text, percent(head.bytes_counted, head.bytes));
}
