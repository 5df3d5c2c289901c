// Words for numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, percent, rate, short, size, span, took, whole } from "../../../dashboard/bpefleet/dashboard/static/format.js";

test("sizes have the unit that keeps them short", () => {
  assert.equal(size(0), "0 B");
  assert.equal(size(999), "999 B");
  assert.equal(size(1000), "1.0 kB");
  assert.equal(size(2_345_678), "2.3 MB");
  assert.equal(size(5e15), "5000.0 TB");
  assert.equal(rate(1500), "1.5 kB/s");
  assert.equal(whole(1_234_567), "1,234,567");
});
test("it is never 100 % until it is all", () => {
  assert.equal(percent(99_999, 100_000), "99.9 %");
  assert.equal(percent(1, 1), "100.0 %");
  assert.equal(percent(0, 0), "100.0 %");
});
test("spans of time have two units at the most", () => {
  assert.equal(span(-3), "0 s");
  assert.equal(span(59.6), "1 min 0 s");
  assert.equal(span(3599), "59 min 59 s");
  assert.equal(span(3 * 3600 + 125), "3 h 2 min");
  assert.equal(span(49 * 3600), "2 days");
  assert.equal(took(2.34), "2.3 s");
  assert.equal(took(12.3), "12 s");
  assert.equal(short(0.0123), "0.012 s");
});
test("a time of another day has its date", () => {
  const now = new Date(), noon = new Date(now.getFullYear(), now.getMonth(), now.getDate(), 12).getTime() / 1000;
  assert.equal(clock(noon), "12:00:00");
  assert.match(clock(noon - 40 * 86_400), /^\d+ \w+ \d{4}, 1[123]:00:00$/);
});
