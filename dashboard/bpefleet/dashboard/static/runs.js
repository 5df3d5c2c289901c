// The list of all runs.

import { $, badge, fill, put } from "./elements.js";
import { percent, rate, share, span, whole } from "./format.js";
import { ago, stageOf, state } from "./state.js";

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
    head.stage === "count" ? rate(head.rate) : "",
    head.eta === null || head.holding ? "" : span(head.eta),
    head.stage === "count" ? whole(head.workers) : "",
    ago(head.updated),
  ]]));
}
function runLink(cell, head) {
  if (cell.firstChild) return;
  const box = document.createElement("div"), link = document.createElement("a"), where = document.createElement("div");
  link.href = `/runs/${encodeURIComponent(head.run)}`;
  link.textContent = head.run;
  where.className = "hint";
  where.textContent = head.directory;
  box.append(link, where);
  cell.append(box);
}
function stageBadge(cell, head) {
  const [text, kind] = stageOf(head);
  if (cell.textContent !== text) cell.replaceChildren(badge(text, kind));
}
function bar(cell, head) {
  if (!cell.firstChild) {
    const progress = document.createElement("progress"), box = document.createElement("span");
    progress.setAttribute("aria-label", `Text counted of ${head.run}`);
    box.append(progress, document.createElement("span"));
    cell.append(box);
  }
  const [progress, text] = cell.firstChild.children;
  progress.value = share(head.bytes_counted, head.bytes);
  put(text, percent(head.bytes_counted, head.bytes));
}
