// What plots are drawn of; the drawing itself is looked at in a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { alone, spread } from "../../../shared/bpefleet/shared/plots/files/plot.js";

test("values between two gaps are drawn as dots", () => {
  assert.deepEqual(alone([1, 2, null, 3, null, 4, 5]), [3]);
  assert.deepEqual(alone([1, null, 2]), [0, 2]);
  assert.deepEqual(alone([0]), [0]);
  assert.deepEqual(alone([null, null]), []);
});
test("texts that would overlap are left out, the last never", () => {
  assert.deepEqual(spread([512, 1024, 2048, 2100], 300), [512, 1024, 2100]);
  assert.deepEqual(spread([512, 1024, 2048, 4096], 150), [1024, 4096]);
  assert.deepEqual(spread([512, 1024, 2048], 1000), [512, 1024, 2048]);
  assert.deepEqual(spread([257], 300), [257]);
  assert.deepEqual(spread([], 300), []);
});
