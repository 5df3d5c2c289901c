// What the server's events told so far. Other modules read it; it is changed here.

import { span } from "./format.js";

export const WORKERS = location.pathname === "/workers";
export const RUN = location.pathname.startsWith("/runs/")
  ? decodeURIComponent(location.pathname.slice("/runs/".length)) : "";
export const SILENT_AFTER = 20; // seconds without a sign of a run that goes
export const RATE_OVER = 30; // seconds over which a rate is taken, as the producer does
const GONE = ["done", "stopped", "planned"];

export const state = { clock: 0, order: [], runs: new Map(), parts: {}, series: [], cells: [] };

export function forget() {
  state.parts = {};
  state.runs.clear();
}
export function learn(message) {
  state.clock = message.time - Date.now() / 1000;
  for (const [name, part] of Object.entries(message)) {
    if (name.startsWith("run ")) part === null ? state.runs.delete(name.slice(4)) : state.runs.set(name.slice(4), part);
    else if (name === "order") state.order = part;
    else if (name === "series") state.series = part === null ? [] : [...state.series.slice(0, part.keep), ...part.add];
    else if (part === null) delete state.parts[name];
    else state.parts[name] = part;
  }
  if (message.map !== undefined) state.cells = unpack(message.map ?? "");
}
// Cells as `cells.py` writes them, each with how many chunks of it are in which state.
function unpack(map) {
  return map.split(" ").filter(Boolean).flatMap((part) => {
    const [counts, times] = part.split("*");
    const cell = [...counts.matchAll(/([a-z])(\d+)/g)].map(([, letter, count]) => [letter, Number(count)]);
    return Array(Number(times ?? 1)).fill(Object.fromEntries(cell));
  });
}
export const chunksIn = (cell) => Object.values(cell).reduce((sum, count) => sum + count, 0);

export const now = () => Date.now() / 1000 + state.clock;
export const ago = (time) => time ? `${span(now() - time)} ago` : "never";
export const isSilent = (head) => !GONE.includes(head.stage) && now() - head.updated > SILENT_AFTER;

export const nameOf = (directory) => directory.split("/").filter(Boolean).at(-1) ?? directory;
export const elapsed = (head) => (head.ended ?? (isSilent(head) ? head.updated : now())) - head.started;
// What is no file is counted while it arrives.
export const isCounting = (head) => ["count", "encode", "evaluate", "spool"].includes(head.stage);
export const encodes = (head) => head.kind !== "count";
export const doneOf = (head) => ({ encode: "encoded", evaluate: "evaluated" })[head.kind] ?? "counted";
const AT_ONCE = 2; // seconds from a run's plan to its first session, as in `Snapshot.resumed`
export const isResumed = (head) => head.started - head.planned > AT_ONCE;

export function stageOf(head) {
  if (head.holding) return ["holding", "warn"];
  if (isSilent(head)) return [`${head.stage}, silent`, "bad"];
  const kinds = { done: "good", spool: "busy", count: "busy", encode: "busy", evaluate: "busy", merge: "busy", write: "busy", stopped: "warn" };
  return [head.stage, kinds[head.stage] ?? ""];
}
