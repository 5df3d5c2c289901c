// What the server's events told so far.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

globalThis.location = { pathname: "/runs/a%20run" };
const { RUN, WORKERS, chunksIn, elapsed, forget, isCounting, isResumed, isSilent, learn, nameOf, stageOf, state } =
  await import("../../../dashboard/bpefleet/dashboard/static/state.js");

const soon = () => Date.now() / 1000;

beforeEach(() => {
  forget();
  learn({ time: soon() });
});

test("the address says which page it is", () => {
  assert.equal(RUN, "a run");
  assert.equal(WORKERS, false);
});
test("what arrives is counted as it does", () => {
  assert.deepEqual(["spool", "count", "merge"].map((stage) => isCounting({ stage })), [true, true, false]);
});
test("parts come and go one by one", () => {
  learn({ time: soon(), head: { stage: "count" }, "run one": { stage: "count" }, order: ["one"] });
  learn({ time: soon(), problem: "away" });
  assert.deepEqual(state.parts.head, { stage: "count" });
  assert.equal(state.parts.problem, "away");
  assert.deepEqual([...state.runs], [["one", { stage: "count" }]]);
  assert.deepEqual(state.order, ["one"]);
  learn({ time: soon(), problem: null, "run one": null });
  assert.deepEqual(state.parts.head, { stage: "count" });
  assert.equal("problem" in state.parts, false);
  assert.equal(state.runs.size, 0);
});
test("a series is told by what is new in it", () => {
  learn({ time: soon(), series: { keep: 0, add: [[1], [2], [3]] } });
  learn({ time: soon(), series: { keep: 2, add: [[4]] } });
  assert.deepEqual(state.series, [[1], [2], [4]]);
  learn({ time: soon(), series: null });
  assert.deepEqual(state.series, []);
});
test("the map is told by its cells", () => {
  learn({ time: soon(), map: "c50*2 c48r2 f1" });
  assert.deepEqual(state.cells, [{ c: 50 }, { c: 50 }, { c: 48, r: 2 }, { f: 1 }]);
  assert.deepEqual(state.cells.map(chunksIn), [50, 50, 50, 1]);
  learn({ time: soon(), map: null });
  assert.deepEqual(state.cells, []);
});
test("times are told by the server's clock", () => {
  learn({ time: soon() + 1000 });
  const head = { stage: "count", updated: soon() + 995, started: soon() + 900, ended: null };
  assert.equal(isSilent(head), false);
  assert.ok(Math.abs(elapsed(head) - 100) < 1);
  assert.equal(isSilent({ ...head, updated: soon() }), true);
  assert.equal(isSilent({ ...head, updated: soon(), stage: "done" }), false);
});
test("a stage is told with how it goes", () => {
  const head = { stage: "count", updated: soon() };
  assert.deepEqual(stageOf(head), ["count", "busy"]);
  assert.deepEqual(stageOf({ ...head, holding: true }), ["holding", "warn"]);
  assert.deepEqual(stageOf({ ...head, updated: 0 }), ["count, silent", "bad"]);
  assert.deepEqual(stageOf({ ...head, stage: "done" }), ["done", "good"]);
  assert.equal(isResumed({ planned: 0, started: 1 }), false);
  assert.equal(isResumed({ planned: 0, started: 100 }), true);
  assert.equal(nameOf("/data/run/"), "run");
});
