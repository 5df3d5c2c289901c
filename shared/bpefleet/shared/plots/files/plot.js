// Draws a plot with uPlot, for the page of a run and for its report. The report holds this file as it
// is, with nothing to import from: so it imports nothing. The library's script makes `uPlot` global.

// Pixels: of a plot, at its right for half of the last text, and from one text to the next.
const HEIGHT = 190, BESIDE = 28, ROOM = 72;
const FONT = "12px system-ui, sans-serif";
const MINUTE = 60, HOUR = 3600, DAY = 86_400;
const TIMES = [[1, [1, 2, 5, 10, 15, 30]], [MINUTE, [1, 2, 5, 10, 15, 30]], [HOUR, [1, 2, 3, 6, 12]], [DAY, [1, 2, 5, 10, 30]]]
  .flatMap(([unit, counts]) => counts.map((count) => unit * count));
const STEPS = Array.from({ length: 24 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** (i - 6))).flat();

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/* What a chart is:
 *   label     for those who do not see it
 *   data      [positions, values of the first line, …]; null is a gap
 *   lines     of each its { name, colour (a custom property), shape: "line", "steps" or "bars" }
 *   x, y      axes: { name, words (a value as text), ticks (values as texts, given their distance),
 *             unit (beside the axis), whole (whether there are no values between 0 and 1) }
 *   x.scale   "time", "number", "log" or "names": 0, 1, … for x.ticks to name
 *   latest    whether the values of the end are told while nothing is pointed at */
export function plot(node, chart) {
  const drawn = new uPlot(options(node, chart), chart.data, node);
  drawn.root.querySelector(".u-wrap").setAttribute("role", "img");
  describe(drawn, chart.label);
  return drawn;
}
export function describe(drawn, text) {
  drawn.root.querySelector(".u-wrap").setAttribute("aria-label", text);
}
export function resize(drawn, node) {
  drawn.setSize({ width: node.clientWidth, height: HEIGHT });
}

function options(node, chart) {
  const { x, y, lines, data } = chart, named = x.scale === "names";
  const told = (axis) => (drawn, value, series, at) => {
    if (at === null) return chart.latest ? axis.words(latest(drawn.data[series])) : "";
    return value === null ? "not known" : axis.words(value);
  };
  return {
    width: node.clientWidth,
    height: HEIGHT,
    padding: [10, BESIDE, 0, 0],
    scales: {
      x: {
        time: x.scale === "time",
        distr: x.scale === "log" ? 3 : 1,
        log: 2,
        ...(named && { range: [-0.6, data[0].length - 0.4] }),
      },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      axis(x, {
        size: 26,
        gap: 4,
        space: named ? 50 : ROOM,
        grid: { show: false },
        ...(x.scale === "log" && { splits: (drawn) => spread(data[0], drawn.bbox.width / devicePixelRatio), filter: (_, splits) => splits }),
        incrs: x.scale === "time" ? TIMES : steps(named),
      }),
      axis(y, { size: width, space: 22, incrs: steps(y.whole) }),
    ],
    series: [
      { label: x.name, value: told(x) },
      ...lines.map((line) => ({
        label: line.name,
        value: told(y),
        stroke: () => colour(line.colour),
        width: 2,
        ...shapes()[line.shape],
      })),
    ],
    cursor: { y: false, drag: { x: false, y: false } },
    legend: { markers: { width: 0, fill: (_, i) => (i ? colour(lines[i - 1].colour) : "transparent") } },
  };
}
function axis({ ticks, unit }, more) {
  return {
    font: FONT,
    labelFont: FONT,
    stroke: () => colour("soft"),
    grid: { stroke: () => colour("line"), width: 1 },
    ticks: { stroke: () => colour("line"), width: 1, size: 4 },
    values: (_, values, __, ___, step) => ticks(values, step),
    ...(unit && { label: unit, labelSize: 18 }),
    ...more,
  };
}
function steps(whole) {
  return whole ? STEPS.filter((step) => step >= 1) : STEPS;
}
function shapes() {
  return {
    line: { points: { filter: (drawn, line, all) => all ? null : alone(drawn.data[line]) } },
    steps: { paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } },
    bars: { paths: uPlot.paths.bars({ size: [0.7, 80] }), fill: (drawn, i) => drawn.series[i].stroke(), points: { show: false } },
  };
}
// Values between two gaps, which no line joins: shown as dots where the other points are not.
export function alone(values) {
  return values.flatMap((value, i) => value !== null && values[i - 1] == null && values[i + 1] == null ? [i] : []);
}
// As wide as the widest of its texts, or they would be cut off.
function width(drawn, values) {
  if (!values?.length) return 40;
  drawn.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  return 14 + Math.ceil(Math.max(...values.map((text) => drawn.ctx.measureText(text).width)) / devicePixelRatio);
}
function latest(values) {
  return values.findLast((value) => value !== null) ?? 0;
}
// Of positions on a logarithmic axis so wide those whose texts have room, the last first.
export function spread(positions, width) {
  const kept = [], first = Math.log(positions[0]), whole = Math.log(positions.at(-1)) - first;
  let next = Number.POSITIVE_INFINITY;
  for (const position of [...positions].reverse()) {
    const at = whole ? width * (Math.log(position) - first) / whole : 0;
    if (next - at < ROOM) continue;
    kept.unshift(position);
    next = at;
  }
  return kept;
}
