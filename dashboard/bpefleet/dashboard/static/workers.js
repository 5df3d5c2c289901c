// The tables of workers and of timings.

import { $, fill, put } from "./elements.js";
import { rate, short, size, span, whole } from "./format.js";
import { SILENT_AFTER, ago, isCounting, now, state } from "./state.js";

const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function drawWorkers(head, workers) {
  const counting = isCounting(head);
  const more = state.parts.more_workers ?? 0, all = workers.length + more;
  put($("workers-title"), counting ? "Workers" : "Workers, as last seen while counting");
  put($("some-workers"), more ? `${whole(all)} on ${whole(state.parts.hosts)} hosts. Shown are ${whole(workers.length)}: those longest at a chunk, then those heard of longest ago.` : "");
  $("all-workers").hidden = more === 0;
  $("no-workers").hidden = workers.length > 0;
  $("workers").hidden = workers.length === 0;
  const silent = (worker) => counting && now() - worker.heard > SILENT_AFTER;
  fill($("workers"), workers.map((worker) => [worker.name, [
    (cell) => { cell.title = worker.name; put(cell, worker.host || worker.name); },
    String(worker.pid || ""),
    worker.chunk === null ? "" : String(worker.chunk),
    worker.doing || (worker.chunk !== null ? "starts" : counting ? "idle" : ""),
    worker.chunk !== null && worker.since ? span(now() - worker.since) : "",
    `${whole(worker.chunks)} (${size(worker.bytes)})`,
    worker.seconds ? rate(worker.bytes / worker.seconds) : "",
    worker.peak_rss ? size(worker.peak_rss) : "",
    (cell) => { cell.style.color = silent(worker) ? "var(--danger)" : ""; put(cell, ago(worker.heard) + (silent(worker) ? ", silent" : "")); },
  ]]));
}

export function drawTimings() {
  const timings = state.parts.timings ?? [], kinds = state.parts.failures ?? [];
  $("timings-card").hidden = timings.length === 0 && kinds.length === 0;
  const lag = state.parts.lag?.count ? [{ ...state.parts.lag, stage: "end to ledger" }] : [];
  fill($("timings"), [...timings, ...lag].map((timing) => [timing.stage, [
    timing.stage, whole(timing.count), short(timing.seconds / timing.count),
    within(timing, 0.5), within(timing, 0.95), short(timing.seconds),
  ]]));
  put($("kinds"), kinds.length
    ? `Failed attempts in this session: ${kinds.map((k) => `${k.kind} ${whole(k.count)}`).join(", ")}` : "");
}
function within(timing, part) {
  let sum = 0;
  const at = timing.buckets.findIndex((count) => {
    sum += count;
    return sum >= part * timing.count;
  });
  return at < 0 ? `over ${BOUNDS.at(-1)} s` : `${BOUNDS[at]} s`;
}
