// Draws the charts of a report; stands in one module with `plot.js`, behind it.

const charts = JSON.parse(document.getElementById("charts").textContent), drawn = [];

function drawAll() {
  for (const picture of drawn.splice(0)) picture.destroy();
  charts.forEach((chart, i) => {
    const figure = document.getElementById(`chart-${i}`);
    figure.hidden = false;
    drawn.push(plot(figure.querySelector(".plot"), described(chart)));
  });
}
function described({ caption, shape, labels, positions, values, x, unit, log }) {
  const named = !positions.length, exact = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
  const texts = (numbers) => numbers.map((number) => number.toLocaleString("en-US", { maximumFractionDigits: 9 }));
  return {
    label: caption,
    data: [named ? labels.map((_, i) => i) : positions, values],
    lines: [{ name: unit, colour: "mark", shape }],
    x: {
      name: x,
      unit: x,
      scale: named ? "names" : log ? "log" : "number",
      words: named ? (at) => labels[at] : exact,
      ticks: named ? (places) => places.map((at) => labels[at] ?? "") : texts,
    },
    y: { name: unit, unit, words: exact, ticks: texts },
  };
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => drawn.forEach((picture, i) => { resize(picture, document.querySelector(`#chart-${i} .plot`)); }));
