// The page of all runs and the page of one. It keeps what the server's events told so far and draws
// what changed. Every text from outside enters the page as text: textContent only.
"use strict";

const $ = (id) => document.getElementById(id);
const RUN = location.pathname.startsWith("/runs/")
  ? decodeURIComponent(location.pathname.slice("/runs/".length)) : "";
const STATES = { c: "counted", r: "running", q: "queued", w: "waiting", f: "failed" };
const SILENT_AFTER = 20; // seconds without a sign of a run that goes
const RATE_OVER = 30; // seconds over which a rate is taken, as the producer does
const LOST_AFTER = 40000; // milliseconds; the server gives a sign of life every 15 s
const MOST_FAILURES = 200;
const GONE = ["done", "stopped", "planned"];

const state = { clock: 0, problem: "", order: [], runs: new Map(), parts: {}, series: [], codes: "" };

// ---- the token: taken from the address, kept for this tab, sent as a header

function takeToken() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    address.searchParams.delete("token");
    window.history.replaceState(null, "", address);
  }
  return sessionStorage.getItem("token");
}
const token = takeToken();
const headers = token ? { Authorization: `Bearer ${token}` } : {};

// ---- words for numbers

function size(count) {
  let unit = "B", value = count;
  for (unit of ["B", "kB", "MB", "GB", "TB"]) {
    if (value < 1000 || unit === "TB") break;
    value /= 1000;
  }
  return unit === "B" ? `${Math.round(value)} B` : `${value.toFixed(1)} ${unit}`;
}
const whole = (number) => number.toLocaleString("en-US");
const rate = (perSecond) => `${size(perSecond)}/s`;
const short = (seconds) => seconds < 10 ? `${seconds.toFixed(seconds < 1 ? 3 : 1)} s` : span(seconds);
const share = (part, all) => all ? part / all : 1;
// Never 100 % until it is all.
const percent = (part, all) => `${(part < all ? Math.min(99.9, 100 * part / all) : 100).toFixed(1)} %`;

function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  const hours = Math.floor(s / 3600);
  return hours < 48 ? `${hours} h ${Math.floor((s % 3600) / 60)} min` : `${Math.round(hours / 24)} days`;
}
const now = () => Date.now() / 1000 + state.clock;
const ago = (time) => time ? `${span(now() - time)} ago` : "never";
const isSilent = (head) => !GONE.includes(head.stage) && now() - head.updated > SILENT_AFTER;

// ---- small changes to the page

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
function tell(node, text, kind = "") {
  node.hidden = !text;
  node.className = `notice ${kind}`;
  put(node, text);
}
function news(text) {
  put($("news"), text);
}
function tile(id, main, small = "") {
  const node = $(id);
  if (node.dataset.main === main && node.dataset.small === small) return;
  Object.assign(node.dataset, { main, small });
  node.replaceChildren(main);
  if (small) {
    const more = document.createElement("small");
    more.textContent = small;
    node.append(more);
  }
}
function badge(text, kind) {
  const node = document.createElement("span");
  node.className = `badge ${kind}`;
  node.textContent = text;
  return node;
}
function stageOf(head) {
  if (head.holding) return ["holding", "warn"];
  if (isSilent(head)) return [`${head.stage}, silent`, "bad"];
  const kinds = { done: "good", count: "busy", merge: "busy", stopped: "warn" };
  return [head.stage, kinds[head.stage] ?? ""];
}

// Rows keep their elements from one drawing to the next, so that focus and selection stay.
function fill(table, rows) {
  const names = [...table.tHead.rows[0].cells].map((cell) => [cell.textContent, cell.className]);
  const body = table.tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  rows.forEach(([key, cells], at) => {
    const row = old.get(String(key)) ?? newRow(key, names);
    old.delete(String(key));
    if (body.rows[at] !== row) body.insertBefore(row, body.rows[at] ?? null);
    cells.forEach((cell, i) => typeof cell === "function" ? cell(row.cells[i]) : put(row.cells[i], cell));
  });
  for (const row of old.values()) row.remove();
}
function newRow(key, names) {
  const row = document.createElement("tr");
  row.dataset.key = key;
  row.setAttribute("role", "row"); // on a phone the rows are no longer laid out as a table
  for (const [name, kind] of names) {
    const cell = row.insertCell();
    cell.className = kind;
    cell.dataset.name = name;
    cell.setAttribute("role", "cell");
  }
  return row;
}

// ---- all runs

function drawAll() {
  const heads = state.order.map((run) => state.runs.get(run)).filter(Boolean);
  $("none").hidden = heads.length > 0;
  $("runs").hidden = heads.length === 0;
  fill($("runs"), heads.map((head) => [head.run, [
    (cell) => runLink(cell, head),
    (cell) => stageBadge(cell, head),
    (cell) => bar(cell, head),
    `${whole(head.counted)} of ${whole(head.chunks)}`,
    whole(head.failed),
    head.stage === "count" ? rate(head.rate) : "",
    head.eta === null || head.holding ? "" : span(head.eta),
    head.stage === "count" ? whole(head.workers) : "",
    ago(head.updated),
  ]]));
}
function runLink(cell, head) {
  if (cell.firstChild) return;
  const box = document.createElement("div"), link = document.createElement("a"), where = document.createElement("div");
  link.href = `/runs/${encodeURIComponent(head.run)}`;
  link.textContent = head.run;
  where.className = "hint";
  where.textContent = head.directory;
  box.append(link, where);
  cell.append(box);
}
function stageBadge(cell, head) {
  const [text, kind] = stageOf(head);
  if (cell.textContent !== text) cell.replaceChildren(badge(text, kind));
}
function bar(cell, head) {
  if (!cell.firstChild) {
    const progress = document.createElement("progress"), box = document.createElement("span");
    progress.setAttribute("aria-label", `Text counted of ${head.run}`);
    box.append(progress, document.createElement("span"));
    cell.append(box);
  }
  const [progress, text] = cell.firstChild.children;
  progress.value = share(head.bytes_counted, head.bytes);
  put(text, percent(head.bytes_counted, head.bytes));
}

// ---- one run

function drawRun(changed) {
  const head = state.parts.head;
  $("missing").hidden = Boolean(head);
  $("body").hidden = !head;
  if (!head) return;
  if (changed.head) drawHead(head);
  drawReport();
  if (changed.failed || changed.traces || changed.head) drawFailures(head, state.parts.failed ?? []);
  if (changed.states !== undefined || changed.head) drawLegend(head);
  if (changed.states !== undefined) drawMap();
  if (changed.states !== undefined || changed.running || changed.failed) drawPicked();
  if (changed.series) drawCourse();
  if (changed.courses) drawWorkerRates();
  if (changed.workers || changed.head) drawWorkers(head, state.parts.workers ?? []);
  if (changed.timings || changed.lag || changed.failures) drawTimings();
}

function drawHead(head) {
  put($("run-title"), `Run ${head.run}`);
  put($("directory"), head.directory);
  put($("producer"), head.producer);
  document.title = `${head.stage} ${percent(head.bytes_counted, head.bytes)} · ${head.run} · bpefleet`;
  drawNotice(head);
  drawProgress(head);
  drawMerging(head);
  const counting = head.stage === "count";
  const last = state.series.at(-1);
  $("stage").replaceChildren(badge(...stageOf(head)));
  tile("text", size(head.bytes_counted), `of ${size(head.bytes)}`);
  tile("chunks", whole(head.counted), `of ${whole(head.chunks)}`);
  tile("rate", counting ? rate(head.rate) : "–", counting ? `over the last ${RATE_OVER} s` : "not counting");
  tile("eta", ...timeLeft(head));
  const unique = head.unique || (last ? last[2] : 0);
  tile("unique", unique ? whole(unique) : "–", `of ${whole(head.pretokens)} pre-tokens`);
  tile("merges", whole(head.merges_made), `of ${whole(head.merges)}`);
  tile("workers-now", counting ? whole(head.workers) : "–", counting ? `${whole(head.running)} at a chunk` : "not counting");
  tile("retries", whole(head.retries), "in this session");
  tile("memory", head.redis_memory ? size(head.redis_memory) : "–", head.redis_memory ? "used" : "not known now");
}
function drawReport() {
  const { report, ticket } = state.parts, node = $("report");
  node.hidden = !report;
  node.firstChild.href = `/runs/${encodeURIComponent(RUN)}/report${ticket ? `?ticket=${ticket}` : ""}`;
}
function timeLeft(head) {
  if (head.holding) return ["–", "waits for a retry"];
  if (head.stage !== "count") return ["–", "not counting"];
  if (head.eta === null) return ["–", "nothing counted lately"];
  return [span(head.eta), `for counting, at ${rate(head.rate)}; then the merges`];
}
function drawNotice(head) {
  const go = head.failed ? "retry" : "resume";
  if (head.holding) {
    tell($("notice"), `Holding: all other chunks are counted, ${head.failed} failed. Mend what failed them and retry; the run goes on from there.`);
  } else if (isSilent(head)) {
    tell($("notice"), `Nothing heard of the run for ${span(now() - head.updated)}. If its process is gone: bpefleet resume ${head.directory}`, "bad");
  } else if (head.stage === "stopped") {
    tell($("notice"), `Stopped; what is counted is kept. Go on with: bpefleet ${go} ${head.directory}`);
  } else {
    tell($("notice"), "");
  }
}
function drawProgress(head) {
  const merging = head.stage === "merge";
  const [part, all] = merging ? [head.merges_made, head.merges] : [head.bytes_counted, head.bytes];
  put($("progress-label"), merging ? "Merges made" : "Text counted");
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
  if (tokens) ["latest", "longest"].forEach((name) => drawTokens($(name), tokens[name]));
}
function drawTokens(list, tokens) {
  list.replaceChildren(...tokens.map((token) => {
    const item = document.createElement("code");
    item.textContent = token.text;
    item.title = `${whole(token.bytes)} bytes`;
    return item;
  }));
}

function drawFailures(head, failed) {
  const may = state.parts.may_act && Boolean(head.producer) && !isSilent(head);
  $("acts").hidden = !state.parts.may_act || !head.producer;
  $("retry-all").disabled = !may || failed.length === 0;
  $("cancel").disabled = !may;
  $("failures-card").hidden = failed.length === 0;
  put($("failures-title"), failed.length > MOST_FAILURES
    ? `Failed chunks, the first ${MOST_FAILURES} of ${whole(failed.length)}` : "Failed chunks");
  put($("traceback"), `bpefleet failed ${head.directory} --traceback ${failed[0]?.chunk ?? "CHUNK"}`);
  const traces = new Map((state.parts.traces ?? []).map((trace) => [trace.chunk, trace]));
  fill($("failures"), failed.slice(0, MOST_FAILURES).map((failure) => [failure.chunk, [
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

function drawLegend(head) {
  const counts = { counted: head.counted, running: head.running, queued: head.queued, waiting: head.waiting, failed: head.failed };
  const list = $("legend");
  if (!list.firstChild) {
    for (const name of Object.keys(counts)) list.append(Object.assign(document.createElement("li"), { className: name }));
  }
  Object.entries(counts).forEach(([name, count], i) => put(list.children[i], `${name} ${whole(count)}`));
}

// ---- the map of chunks

const map = { cell: 0, columns: 0 };

function unpack(stretches) {
  return stretches.replace(/([a-z])(\d+)/g, (_, letter, count) => letter.repeat(Number(count)));
}
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
function sized(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [context, width];
}
function drawMap() {
  const canvas = $("map"), count = state.codes.length;
  const width = canvas.clientWidth;
  if (!count || !width) return;
  let cell = 18;
  while (cell > 2 && Math.ceil(count / Math.floor(width / cell)) * cell > 260) cell--;
  const columns = Math.floor(width / cell), gap = cell > 5 ? 2 : cell > 3 ? 1 : 0;
  Object.assign(map, { cell, columns });
  canvas.style.height = `${Math.ceil(count / columns) * cell}px`;
  const [context] = sized(canvas, Math.ceil(count / columns) * cell);
  const colours = Object.fromEntries(Object.entries(STATES).map(([letter, name]) => [letter, colour(name)]));
  const card = colour("card");
  for (let i = 0; i < count; i++) {
    const x = (i % columns) * cell, y = Math.floor(i / columns) * cell;
    context.fillStyle = colours[state.codes[i]] ?? card;
    context.fillRect(x, y, cell - gap, cell - gap);
    if (cell > 7) mark(context, state.codes[i], x, y, cell - gap, card);
  }
}
// Not by colour alone: a failed chunk is crossed, a running one has a hole.
function mark(context, letter, x, y, side, card) {
  if (letter === "r") {
    context.fillStyle = card;
    context.fillRect(x + side / 3, y + side / 3, side / 3, side / 3);
  } else if (letter === "f") {
    context.strokeStyle = card;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x + 2, y + 2); context.lineTo(x + side - 2, y + side - 2);
    context.moveTo(x + side - 2, y + 2); context.lineTo(x + 2, y + side - 2);
    context.stroke();
  }
}
function drawPicked() {
  const input = $("pick"), chunk = Number(input.value), count = state.codes.length;
  input.max = Math.max(0, count - 1);
  if (!Number.isInteger(chunk) || chunk < 0 || chunk >= count) return put($("picked"), count ? `chunks are 0 to ${count - 1}` : "");
  const running = (state.parts.running ?? []).find((r) => r.chunk === chunk);
  const failed = (state.parts.failed ?? []).find((f) => f.chunk === chunk);
  const more = running ? `: ${running.what} on ${running.worker}` : failed ? `: ${failed.what}: ${failed.error}` : "";
  put($("picked"), `${STATES[state.codes[chunk]]}${more}`);
}
function pickAt(event) {
  const box = $("map").getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / map.cell), row = Math.floor((event.clientY - box.top) / map.cell);
  const chunk = row * map.columns + column;
  if (column < map.columns && chunk < state.codes.length) {
    $("pick").value = chunk;
    drawPicked();
  }
}

// ---- charts

function slope(points, at, over) {
  let from = at;
  while (from > 0 && points[at][0] - points[from - 1][0] <= over) from--;
  if (from === at && at > 0) from--;
  const seconds = points[at][0] - points[from][0];
  return seconds > 0 ? Math.max(0, points[at][1] - points[from][1]) / seconds : 0;
}
const slopes = (points, over) => points.map((point, i) => [point[0], slope(points, i, over)]).slice(1);

function drawCourse() {
  const series = state.series;
  const rates = slopes(series.map((s) => [s[0], s[1]]), RATE_OVER);
  const column = (i) => series.map((s) => [s[0], s[i]]);
  const latest = (points, words) => points.length
    ? `latest ${words(points.at(-1)[1])}, highest ${words(points.reduce((a, p) => Math.max(a, p[1]), 0))}` : "nothing yet";
  drawChart("chart-rate", [["s0", rates]], rate, latest(rates, rate));
  drawChart("chart-unique", [["s2", column(2)]], whole, latest(column(2), whole));
  drawChart("chart-memory", [["s3", column(3)]], size, latest(column(3), size));
}
function drawWorkerRates() {
  const { times = [], workers = [] } = state.parts.courses ?? {};
  const lines = workers.map((w) => [w.worker, slopes(w.bytes.map((bytes, i) => [times[i], bytes]), RATE_OVER)])
    .sort((a, b) => a[0] < b[0] ? -1 : 1);
  drawChart("chart-workers", lines.map(([, points], i) => [`s${i}`, points]), rate, null);
  const keys = lines.map(([name, points], i) => {
    const key = document.createElement("span");
    key.className = `key s${i}`;
    key.textContent = `${name} ${rate(points.at(-1)?.[1] ?? 0)}`;
    return key;
  });
  const note = keys.length ? "those that counted most in this session" : "nothing yet";
  $("chart-workers").querySelector("figcaption").replaceChildren(...keys, note);
}

const PLOT = { left: 78, right: 8, top: 8, bottom: 22, height: 160 };

function drawChart(id, lines, words, caption) {
  const figure = $(id), canvas = figure.querySelector("canvas");
  if (caption !== null) put(figure.querySelector("figcaption"), caption);
  canvas.setAttribute("aria-label", `${figure.querySelector("h2").textContent}${caption ? `: ${caption}` : ""}`);
  const points = lines.flatMap((line) => line[1]);
  const [context, width] = sized(canvas, PLOT.height);
  if (points.length < 2) return;
  let first = Infinity, last = -Infinity, most = 0;
  for (const [t, v] of points) {
    first = Math.min(first, t); last = Math.max(last, t); most = Math.max(most, v);
  }
  const top = ceiling(most), right = width - PLOT.right, base = PLOT.height - PLOT.bottom;
  const x = (t) => PLOT.left + (right - PLOT.left) * share(t - first, last - first);
  const y = (v) => base - (base - PLOT.top) * v / top;
  drawAxes(context, { x, y, top, most, first, last, right, base }, words);
  for (const [name, line] of lines) stroke(context, colour(name), line.map(([t, v]) => [x(t), y(v)]));
}
// The least of 1, 2, 2.5, 5, 10 times a power of ten that is enough.
function ceiling(most) {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * [1, 2, 2.5, 5, 10].find((step) => step * power >= most);
}
function drawAxes(context, at, words) {
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = colour("soft");
  context.strokeStyle = colour("line");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const v of at.most ? [0, at.top / 2, at.top] : [0]) {
    context.beginPath();
    context.moveTo(PLOT.left, at.y(v)); context.lineTo(at.right, at.y(v));
    context.stroke();
    context.fillText(words(v), PLOT.left - 8, at.y(v));
  }
  const clock = (t) => new Date(t * 1000).toLocaleTimeString("en-GB");
  context.textBaseline = "top";
  context.fillText(clock(at.last), at.right, at.base + 6);
  context.textAlign = "left";
  context.fillText(clock(at.first), PLOT.left, at.base + 6);
}
function stroke(context, style, points) {
  context.strokeStyle = style;
  context.lineWidth = 2;
  context.lineJoin = "round";
  context.beginPath();
  points.forEach(([x, y], i) => i ? context.lineTo(x, y) : context.moveTo(x, y));
  context.stroke();
}

// ---- workers, timings

function drawWorkers(head, workers) {
  const counting = head.stage === "count";
  put($("workers-title"), counting ? "Workers" : "Workers, as last seen while counting");
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
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

function within(timing, part) {
  let sum = 0;
  const at = timing.buckets.findIndex((count) => (sum += count) >= part * timing.count);
  return at < 0 ? `over ${BOUNDS.at(-1)} s` : `${BOUNDS[at]} s`;
}
function drawTimings() {
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

// ---- asking

async function ask(action, chunks) {
  let text, kind = "quiet";
  try {
    const response = await fetch(`/runs/${encodeURIComponent(RUN)}/${action}`, {
      method: "POST", headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ chunks }),
    });
    text = response.ok ? `The run was ${(await response.json()).done}; it follows within seconds.` : await response.text();
    if (!response.ok) kind = "bad";
  } catch {
    [text, kind] = ["The dashboard does not answer.", "bad"];
  }
  tell($("answer"), text, kind);
  news(text);
}

// ---- what the server tells

function take(message) {
  state.clock = message.time - Date.now() / 1000;
  const before = { ...state.parts.head };
  for (const [name, part] of Object.entries(message)) {
    if (name.startsWith("run ")) part === null ? state.runs.delete(name.slice(4)) : state.runs.set(name.slice(4), part);
    else if (name === "order") state.order = part;
    else if (name === "series") state.series = part === null ? [] : [...state.series.slice(0, part.keep), ...part.add];
    else if (part === null) delete state.parts[name];
    else state.parts[name] = part;
  }
  if (message.states !== undefined) state.codes = unpack(message.states ?? "");
  tell($("problem"), state.parts.problem ?? "", "bad");
  put($("mode"), state.parts.may_act ? "" : "read only");
  RUN ? drawRun(message) : drawAll();
  announce(before, state.parts.head);
  if (RUN && state.parts.head?.stage === "done") tell($("answer"), "");
}
function announce(before, head) {
  if (!RUN || !head || before.run === undefined) return;
  if (head.holding && !before.holding) news(`The run is holding: ${head.failed} chunks failed.`);
  else if (head.stage !== before.stage) news(`The run's stage is now ${head.stage}.`);
  else if (head.failed > before.failed) news(`${head.failed} chunks have failed.`);
}

function setLink(text, kind) {
  const node = $("link");
  node.className = `badge ${kind}`;
  put(node, text);
}
async function listen() {
  const control = new AbortController();
  let timer = 0;
  const heard = () => { clearTimeout(timer); timer = setTimeout(() => control.abort(), LOST_AFTER); };
  heard();
  try {
    const response = await fetch(RUN ? `/runs/${encodeURIComponent(RUN)}/events` : "/events", { headers, signal: control.signal });
    if (response.status === 401) return false;
    if (!response.ok) throw new Error(await response.text());
    state.parts = {};
    state.runs.clear();
    setLink("live", "good");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      heard();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) take(JSON.parse(event.slice("data: ".length)));
    }
  } finally {
    clearTimeout(timer);
  }
}
async function follow() {
  for (let pause = 1000; ; pause = Math.min(2 * pause, 15000)) {
    try {
      if (!await listen()) {
        setLink("closed", "bad");
        tell($("problem"), "The token is needed here. Open the address that `bpefleet dashboard` printed.", "bad");
        return;
      }
      pause = 1000;
    } catch { /* it is said in the next line, and tried again */ }
    setLink("lost, trying again", "bad");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function redraw() {
  if (!RUN || !state.parts.head) return;
  drawMap();
  drawCourse();
  drawWorkerRates();
}
function begin() {
  $(RUN ? "run" : "all").hidden = false;
  $("up").hidden = !RUN;
  $("retry-all").addEventListener("click", () => ask("retry", []));
  $("cancel").addEventListener("click", () => $("sure").showModal());
  $("sure-no").addEventListener("click", () => $("sure").close());
  $("sure-yes").addEventListener("click", () => { $("sure").close(); ask("cancel", []); });
  $("pick").addEventListener("input", drawPicked);
  $("map").addEventListener("click", pickAt);
  $("map").addEventListener("mousemove", pickAt);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("resize", redraw);
  // What is told as "… ago" grows old by itself.
  setInterval(() => { if (RUN) { if (state.parts.head) { drawNotice(state.parts.head); drawWorkers(state.parts.head, state.parts.workers ?? []); } } else drawAll(); }, 5000);
  follow();
}
begin();
