// The page of all runs and the page of one: takes what the server tells and has drawn what changed.
// Every text from outside enters the page as text, in every module: textContent only.

import { $, news, put, tell } from "./elements.js";
import { drawFailures, listenToButtons } from "./failures.js";
import { drawFleet, listenToFleet } from "./fleet.js";
import { drawHead, drawNotice, drawReport, drawTimes } from "./head.js";
import { drawLegend, drawMap, drawPicked, listenToMap } from "./map.js";
import { drawCourse, drawWorkerRates, redrawPlots, resizePlots } from "./plots.js";
import { drawAll } from "./runs.js";
import { follow, setLink } from "./server.js";
import { RUN, WORKERS, learn, state } from "./state.js";
import { drawSources } from "./sources.js";
import { drawTimings, drawWorkers } from "./workers.js";

function take(message) {
  const before = { ...state.parts.head };
  learn(message);
  tell($("problem"), state.parts.problem ?? "", "bad");
  state.parts.problem ? setLink("Redis is away", "bad") : setLink("live", "good");
  put($("mode"), state.parts.may_act ? "" : "read only");
  RUN ? drawRun(message) : drawList();
  announce(before, state.parts.head);
  if (RUN && state.parts.head?.stage === "done") tell($("answer"), "");
}
function announce(before, head) {
  if (!RUN || !head || before.run === undefined) return;
  if (head.holding && !before.holding) news(`The run is holding: ${head.failed} chunks failed.`);
  else if (head.stage !== before.stage) news(`The run's stage is now ${head.stage}.`);
  else if (head.failed > before.failed) news(`${head.failed} chunks have failed.`);
}

const drawList = () => WORKERS ? drawFleet() : drawAll();

function drawRun(changed) {
  const head = state.parts.head;
  $("missing").hidden = Boolean(head);
  $("body").hidden = !head;
  if (!head) return;
  if (changed.head) drawHead(head);
  drawReport();
  if (changed.failed || changed.traces || changed.head) drawFailures(head, state.parts.failed ?? []);
  if (changed.sources) drawSources(changed.sources);
  if (changed.map !== undefined || changed.head) drawLegend(head);
  if (changed.map !== undefined) drawMap();
  if (changed.map !== undefined || changed.running || changed.failed) drawPicked();
  if (changed.series) drawCourse();
  if (changed.courses) drawWorkerRates();
  if (changed.workers || changed.head) drawWorkers(head, state.parts.workers ?? []);
  if (changed.timings || changed.lag || changed.failures) drawTimings();
}
function whenShown(drawPlots) {
  return () => {
    if (!RUN || !state.parts.head) return;
    drawMap();
    drawPlots();
  };
}

// What is told as "… ago" grows old by itself.
function age() {
  const { head, workers } = state.parts;
  if (!RUN) drawList();
  else if (head) {
    drawNotice(head);
    drawTimes(head);
    drawWorkers(head, workers ?? []);
  }
}
function begin() {
  $(RUN ? "run" : WORKERS ? "fleet" : "all").hidden = false;
  if (!RUN) $(WORKERS ? "to-workers" : "to-runs").setAttribute("aria-current", "page");
  listenToButtons();
  listenToMap();
  listenToFleet();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", whenShown(redrawPlots));
  addEventListener("resize", whenShown(resizePlots));
  setInterval(age, 1000);
  follow(take);
}
begin();
