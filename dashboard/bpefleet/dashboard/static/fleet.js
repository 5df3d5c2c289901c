// The page of all workers: at work for whichever run, or idle.

import { $, badge, fill, put } from "./elements.js";
import { span, took, whole } from "./format.js";
import { SILENT_AFTER, ago, now, state } from "./state.js";

export function drawFleet() {
  const workers = state.parts.fleet;
  if (!workers) return;
  const busy = workers.filter((worker) => worker.run).length;
  const hosts = new Set(workers.map((worker) => worker.host)).size;
  put($("fleet-sum"), workers.length
    ? `${whole(workers.length)} on ${whole(hosts)} host${hosts > 1 ? "s" : ""}: ${whole(busy)} at a chunk, ${whole(workers.length - busy)} idle` : "");
  $("no-fleet").hidden = workers.length > 0;
  $("everybody").hidden = workers.length === 0;
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
