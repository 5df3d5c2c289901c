// What is plotted over time.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sizeTicks, slopes, timeTicks, wholeTicks, withGaps } from "../../../dashboard/bpefleet/dashboard/static/series.js";

const seconds = (from, count) => Array.from({ length: count }, (_, i) => from + i);
// At 1,000 a second throughout. For a minute nothing was heard; what was counted meanwhile is told with
// the second point after it.
const GAP = [
  ...seconds(0, 60).map((second) => [second, 1000 * second]),
  [120, 60_000],
  ...seconds(121, 60).map((second) => [second, 1000 * second]),
];

test("a gap is neither a slope nor a spike", () => {
  const rates = slopes(GAP, 30);
  assert.equal(rates.length, GAP.length - 1);
  assert.ok(rates.every(([, rate]) => rate <= 1001));
  const away = rates.filter(([second]) => second < 60 || second > 151).map(([, rate]) => Math.round(rate));
  assert.deepEqual([...new Set(away)], [1000]);
});
test("a rate is that of the last seconds, and never below nothing", () => {
  assert.deepEqual(slopes([], 30), []);
  assert.deepEqual(slopes([[5, 100]], 30), []);
  assert.deepEqual(slopes([[0, 0], [1, 10], [2, 30], [3, 30]], 2).map(([, rate]) => rate), [10, 15, 10]);
  assert.deepEqual(slopes([[0, 100], [1, 0], [1, 50]], 30).map(([, rate]) => rate), [0, 0]);
});
test("where nothing was noted all lines have a null", () => {
  const times = [0, 1, 2, 90, 91];
  assert.deepEqual(withGaps(times, [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]), [
    [0, 1, 2, 46, 90, 91],
    [1, 2, 3, null, 4, 5],
    [5, 4, 3, null, 2, 1],
  ]);
  assert.deepEqual(withGaps([0, 9, 18], [1, 2, 3]), [[0, 9, 18], [1, 2, 3]]);
  assert.deepEqual(withGaps([0, 60, 120, 300], [1, 2, 3, 4]), [[0, 60, 120, 300], [1, 2, 3, 4]]);
  assert.deepEqual(withGaps([], []), [[], []]);
});
test("the texts of an axis are in one unit and tell its steps apart", () => {
  assert.deepEqual(sizeTicks([0, 5e8, 1e9], "/s"), ["0", "0.5 GB/s", "1.0 GB/s"]);
  assert.deepEqual(sizeTicks([0, 2e6, 4e6]), ["0", "2 MB", "4 MB"]);
  assert.deepEqual(sizeTicks([999_000, 999_500, 1_000_000]), ["0.9990 MB", "0.9995 MB", "1.0000 MB"]);
  assert.deepEqual(sizeTicks([0]), ["0"]);
  assert.deepEqual(wholeTicks([0, 5_000_000]), ["0", "5,000,000"]);
});
test("times of day are as exact as the steps, and a day begins with its date", () => {
  const midnight = new Date(2026, 10, 22).getTime() / 1000;
  assert.deepEqual(timeTicks([midnight - 5, midnight, midnight + 5], 5), ["23:59:55", "22 Nov", "00:00:05"]);
  assert.deepEqual(timeTicks([midnight + 3600, midnight + 5400], 1800), ["01:00", "01:30"]);
  assert.deepEqual(timeTicks([midnight + 43_200], 86_400), ["22 Nov"]);
});
