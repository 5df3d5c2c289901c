// The upper part of a run's page: what it is, a notice, its progress, the tiles, the merging.

import { $, badge, put, tell, tile } from "./elements.js";
import { clock, percent, rate, share, size, span, took, whole } from "./format.js";
import { RATE_OVER, RUN, doneOf, elapsed, encodes, isCounting, isResumed, isSilent, nameOf, now, stageOf, state } from "./state.js";

export function drawHead(head) {
  drawTitle(head);
  put($("directory"), head.directory);
  put($("producer"), head.producer);
  document.title = `${head.stage} ${percent(head.bytes_counted, head.bytes)} · ${nameOf(head.directory)} ${head.run} · bpefleet`;
  drawNotice(head);
  drawTimes(head);
  drawProgress(head);
  drawMerging(head);
  const counting = isCounting(head);
  const last = state.series.at(-1);
  $("stage").replaceChildren(badge(...stageOf(head)));
  tile("text", size(head.bytes_counted), head.arriving ? arrived(head.arriving) : `of ${size(head.bytes)}`);
  tile("chunks", whole(head.counted), `of ${whole(head.chunks)}${sums(head.exchange)}`);
  tile("rate", counting ? rate(head.rate) : "–", counting ? `over the last ${RATE_OVER} s` : "not counting");
  tile("eta", ...timeLeft(head));
  const unique = head.unique || (last ? last[2] : 0);
  // While counting it is an estimate.
  const about = counting ? "≈ " : "";
  drawLabels(head);
  if (encodes(head)) {
    tile("unique", whole(head.tokens), `in ${whole(head.documents)} documents`);
    tile("merges", whole(head.written), `of ${whole(head.tokens)} tokens`);
  } else {
    tile("unique", unique ? about + whole(unique) : "–", `of ${whole(head.pretokens)} pre-tokens`);
    tile("merges", whole(head.merges_made), `of ${whole(head.merges)}`);
  }
  tile("workers-now", counting ? whole(head.workers) : "–", counting ? `${whole(head.running)} at a chunk` : "not counting");
  tile("retries", whole(head.retries), "in this session");
  tile("memory", head.redis_memory ? size(head.redis_memory) : "–", head.redis_memory ? "used" : "not known now");
}
// What a run is for decides what its tiles show.
function drawLabels(head) {
  const label = (id, text) => put($(id).parentElement.querySelector("dt"), text);
  label("text", `Text ${doneOf(head)}`);
  label("chunks", `Chunks ${doneOf(head)}`);
  label("unique", encodes(head) ? "Tokens" : "Unique pre-tokens");
  label("merges", encodes(head) ? (head.kind === "encode" ? "In shards" : "Added up") : "Merges made");
}
function arrived({ documents, bytes, rate: pace }) {
  const from = documents ? ` in ${whole(documents)} documents` : "";
  return `of ${size(bytes)} that arrived${from}, ${rate(pace)}`;
}
function sums(exchange) {
  return exchange?.sums ? `; ${whole(exchange.made)} of ${whole(exchange.sums)} sums made` : "";
}
function drawTitle(head) {
  const title = $("run-title"), name = nameOf(head.directory);
  if (title.dataset.name === name) return;
  title.dataset.name = name;
  const hash = document.createElement("small");
  hash.textContent = `run ${head.run}`;
  title.replaceChildren(`${name} `, hash);
}
// When it began and ended, and how long that took.
export function drawTimes(head) {
  const resumed = isResumed(head), over = head.ended !== null;
  const begun = `Started ${clock(resumed ? head.planned : head.started)}`;
  const time = over ? took(elapsed(head)) : span(elapsed(head));
  if (over) {
    const word = head.stage === "done" ? "ended" : "stopped";
    put($("times"), `${begun} · ${word} ${clock(head.ended)} · ${resumed ? "its last session took" : "took"} ${time}`);
  } else {
    put($("times"), `${begun}${resumed ? ` · this session ${clock(head.started)}` : ""} · elapsed ${time}`);
  }
}
export function drawReport() {
  const { report, ticket } = state.parts, node = $("report");
  node.hidden = !report;
  node.firstChild.href = `/runs/${encodeURIComponent(RUN)}/report${ticket ? `?ticket=${ticket}` : ""}`;
}
function timeLeft(head) {
  if (head.holding) return ["–", "waits for a retry"];
  if (head.stage === "spool") return ["–", "more may arrive"];
  if (head.stage === "count") {
    if (head.eta === null) return ["–", "nothing counted lately"];
    return [span(head.eta), `for counting, at ${rate(head.rate)}; then the merges`];
  }
  if (head.stage === "encode" || head.stage === "evaluate") {
    const doing = head.stage === "encode" ? "encoding" : "evaluating";
    return head.eta === null ? ["–", `nothing ${doneOf(head)} lately`] : [span(head.eta), `for ${doing}, at ${rate(head.rate)}`];
  }
  if (head.stage === "write") return [head.eta === null ? "–" : span(head.eta), head.kind === "encode" ? "for the shards" : "for the sums"];
  if (head.stage !== "merge") return ["–", head.stage === "done" ? "done" : "nothing goes on"];
  if (head.eta === null) return ["–", "folding the counts"];
  return [span(head.eta), `for the merges, at ${whole(Math.round(head.merging.rate))}/s`];
}
export function drawNotice(head) {
  const go = head.failed ? "retry" : "resume";
  if (head.holding) {
    tell($("notice"), `Holding: all other chunks are ${doneOf(head)}, ${head.failed} failed. Mend what failed them and retry; the run goes on from there.`);
  } else if (isSilent(head)) {
    tell($("notice"), `Nothing heard of the run for ${span(now() - head.updated)}. If its process is gone: bpefleet resume ${head.directory}`, "bad");
  } else if (head.stage === "stopped") {
    tell($("notice"), `Stopped; what is ${doneOf(head)} is kept. Go on with: bpefleet ${go} ${head.directory}`);
  } else if (head.full && isCounting(head)) {
    tell($("notice"), `The exchange has no room for ${whole(head.full)} chunks or sums, ${span(now() - head.full_since)} so far. Make room, and the run goes on by itself; or cancel it, and resume it later.`, "bad");
  } else if (head.slow && isCounting(head)) {
    tell($("notice"), `Leaving counts in the exchange takes long, ${span(now() - head.slow_since)} so far, for workers: ${whole(head.slow)}. See to its disk, store or network; the run goes on.`);
  } else {
    tell($("notice"), "");
  }
}
function drawProgress(head) {
  const [part, all, label] = {
    merge: [head.merges_made, head.merges, "Merges made"],
    write: [head.written, head.tokens, "Tokens in shards"],
  }[head.stage] ?? [head.bytes_counted, head.bytes, `Text ${doneOf(head)}`];
  put($("progress-label"), label);
  $("progress").value = share(part, all);
  put($("percent"), percent(part, all));
}

function drawMerging(head) {
  const merging = head.merging, tokens = merging?.tokens;
  $("merging-card").hidden = !merging;
  if (!merging) return;
  put($("merging"), head.stage === "merge"
    ? `${whole(Math.round(merging.rate))} merges/s over the last 5 s or less`
    : `${whole(head.merges_made)} merges made, ${whole(Math.round(merging.rate))} merges/s at the end`);
  $("tokens").hidden = !tokens;
  if (tokens) for (const name of ["latest", "longest"]) drawTokens($(name), tokens[name]);
}
function drawTokens(list, tokens) {
  list.replaceChildren(...tokens.map((token) => {
    const item = document.createElement("code");
    item.textContent = token.text;
    item.title = `${whole(token.bytes)} bytes`;
    return item;
  }));
}
