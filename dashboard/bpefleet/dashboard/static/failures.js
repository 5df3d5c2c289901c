// The failed chunks, and the buttons that ask for something.

import { $, fill, put } from "./elements.js";
import { whole } from "./format.js";
import { ask } from "./server.js";
import { isSilent, state } from "./state.js";

export function drawFailures(head, failed) {
  const may = state.parts.may_act && Boolean(head.producer) && !isSilent(head);
  $("acts").hidden = !state.parts.may_act || !head.producer;
  $("retry-all").disabled = !may || failed.length === 0;
  $("cancel").disabled = !may;
  $("failures-card").hidden = failed.length === 0;
  const some = failed.length < head.failed;
  put($("failures-title"), some ? `Failed chunks, the first ${whole(failed.length)} of ${whole(head.failed)}` : "Failed chunks");
  put($("all-failed"), some ? `All of them: bpefleet failed ${head.directory}` : "");
  put($("traceback"), `bpefleet failed ${head.directory} --traceback ${failed[0]?.chunk ?? "CHUNK"}`);
  const traces = new Map((state.parts.traces ?? []).map((trace) => [trace.chunk, trace]));
  fill($("failures"), failed.map((failure) => [failure.chunk, [
    String(failure.chunk), failure.what, (cell) => reason(cell, failure, traces.get(failure.chunk)),
    whole(failure.attempts), failure.worker, (cell) => retryButton(cell, failure.chunk, may),
  ]]));
}
function reason(cell, failure, trace) {
  if (!cell.firstChild) {
    const box = document.createElement("div"), more = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Log and traceback";
    more.append(summary, document.createElement("pre"));
    box.append(document.createElement("span"), more);
    cell.append(box);
  }
  const [text, more] = cell.firstChild.children;
  put(text, `${failure.kind}: ${failure.error}`);
  const parts = [["Log, its last lines (UTC)", trace?.log], ["Traceback, its last lines", trace?.traceback]]
    .filter((part) => part[1]).map(([name, lines]) => `${name}:\n${lines}`);
  more.hidden = parts.length === 0;
  put(more.lastChild, parts.join("\n\n"));
}
function retryButton(cell, chunk, may) {
  if (!state.parts.may_act) return cell.replaceChildren();
  if (!cell.firstChild) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Retry";
    button.setAttribute("aria-label", `Retry chunk ${chunk}`);
    button.addEventListener("click", () => ask("retry", [chunk]));
    cell.append(button);
  }
  cell.firstChild.disabled = !may;
}

export function listenToButtons() {
  $("retry-all").addEventListener("click", () => ask("retry", []));
  $("cancel").addEventListener("click", () => $("sure").showModal());
  $("sure-no").addEventListener("click", () => $("sure").close());
  $("sure-yes").addEventListener("click", () => { $("sure").close(); ask("cancel", []); });
}
