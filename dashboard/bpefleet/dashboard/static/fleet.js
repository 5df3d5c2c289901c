// The page of all workers: at work for whichever run, or idle.

import { $, badge, fill, put } from "./elements.js";
import { span, took, whole } from "./format.js";
import { SILENT_AFTER, ago, now, state } from "./state.js";

const ASKED = new URLSearchParams(location.search).get("find") ?? "";

export function drawFleet() {
  const workers = state.parts.fleet, sum = state.parts.fleet_sum;
  if (!workers || !sum) return;
  put($("fleet-sum"), sum.all
    ? `${whole(sum.all)} on ${whole(sum.hosts)} host${sum.hosts > 1 ? "s" : ""}: ${whole(sum.busy)} at a chunk, ${whole(sum.all - sum.busy)} idle` : "");
  $("no-fleet").hidden = sum.all > 0;
  $("everybody").hidden = workers.length === 0;
  drawPart(sum, workers.length);
  fill($("everybody"), workers.map((worker) => [worker.name, [
    (cell) => { cell.title = worker.name; put(cell, worker.host || worker.name); },
    String(worker.pid || ""),
    (cell) => { const [text, kind] = stateOf(worker); if (cell.textContent !== text) cell.replaceChildren(badge(text, kind)); },
    (cell) => runLink(cell, worker.run),
    worker.run ? String(worker.chunk) : "",
    worker.run ? worker.doing || "starts" : "",
    worker.run && worker.since ? span(now() - worker.since) : "",
    whole(worker.counted),
    whole(worker.failed),
    worker.seconds ? took(worker.seconds) : "",
    worker.born ? span(now() - worker.born) : "",
    ago(worker.heard),
  ]]));
}
// Which of many are shown, and the ways to the others.
function drawPart(sum, shown) {
  const last = sum.first + shown, having = ASKED ? ` with “${ASKED}”` : "";
  $("fleet-part").hidden = !ASKED && sum.all === shown;
  put($("fleet-shown"), shown ? `${whole(sum.first + 1)} to ${whole(last)} of ${whole(sum.found)}${having}` : `none${having || " here"}`);
  way("fleet-before", Math.max(0, sum.first - sum.page), sum.first > 0);
  way("fleet-after", last, last < sum.found);
}
function way(id, first, leads) {
  $(id).hidden = !leads;
  $(id).href = `/workers?${new URLSearchParams({ find: ASKED, from: first })}`;
}
export function listenToFleet() {
  $("find").value = ASKED;
  $("fleet-part").addEventListener("submit", (event) => { // the policy lets no form lead anywhere
    event.preventDefault();
    location.assign(`/workers?${new URLSearchParams({ find: $("find").value })}`);
  });
}
function stateOf(worker) {
  if (now() - worker.heard > SILENT_AFTER) return ["silent", "bad"];
  if (!worker.version) return ["no bpefleet worker", "bad"];
  return worker.run ? ["at work", "busy"] : ["idle", ""];
}
function runLink(cell, run) {
  const name = state.parts.names?.[run], text = run ? `${name ? `${name} ` : ""}${run}` : "";
  if (cell.textContent === text) return;
  const link = document.createElement("a");
  link.href = `/runs/${encodeURIComponent(run)}`;
  link.textContent = text;
  cell.replaceChildren(...(run ? [link] : []));
}
