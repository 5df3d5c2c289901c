// Small changes to the page, and what the map and the plots both draw with.

export const $ = (id) => document.getElementById(id);

export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
export function tell(node, text, kind = "") {
  node.hidden = !text;
  node.className = `notice ${kind}`;
  put(node, text);
}
export function news(text) {
  put($("news"), text);
}
export function tile(id, main, small) {
  const node = $(id);
  if (node.dataset.main === main && node.dataset.small === small) return;
  Object.assign(node.dataset, { main, small });
  const more = document.createElement("small");
  more.textContent = small;
  node.replaceChildren(main, more);
}
export function badge(text, kind) {
  const node = document.createElement("span");
  node.className = `badge ${kind}`;
  node.textContent = text;
  return node;
}

// Rows keep their elements from one drawing to the next, so that focus and selection stay.
export function fill(table, rows) {
  const names = [...table.tHead.rows[0].cells].map((cell) => [cell.textContent, cell.className]);
  const body = table.tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  rows.forEach(([key, cells], at) => {
    const row = old.get(String(key)) ?? newRow(key, names);
    old.delete(String(key));
    if (body.rows[at] !== row) body.insertBefore(row, body.rows[at] ?? null);
    cells.forEach((cell, i) => { typeof cell === "function" ? cell(row.cells[i]) : put(row.cells[i], cell); });
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

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
export function sized(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return [context, width];
}
