"use strict";
// Sorting by a click or a key on a column's head, rows of some names or above a number, arrow keys from cell to cell.
const DATA = JSON.parse(document.getElementById("data").textContent);
const FEWEST = 8; // rows of a table that is filtered
const UNITS = { k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, b: 1, ms: 1, "%": 1, "": 1 };

// An element with attributes and children; text is set as text, never read as markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// The number by which a row stands in a column; null: nothing measured, always last.
function rank(row, column) {
  const cell = row.cells[column];
  return cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : null;
}

function compare(column, direction) {
  return (a, b) => {
    if (column === 0) return direction * a.cells[0].textContent.localeCompare(b.cells[0].textContent, "en", { numeric: true });
    const [x, y] = [rank(a, column), rank(b, column)];
    if (x === null || y === null) return (x === null) - (y === null);
    return direction * (x - y);
  };
}

// The order of a click: the better end first, then the other end, then as the table was.
function next(head) {
  const first = head.dataset.better === "high" ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  return { none: first, [first]: second, [second]: "none" }[head.getAttribute("aria-sort")];
}

function sort(table, head) {
  const order = next(head);
  for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", each === head ? order : "none");
  const column = head.cellIndex;
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => row.dataset.row !== undefined);
    rows.sort((a, b) => a.dataset.row - b.dataset.row); // ties stay as the table was
    if (order !== "none") rows.sort(compare(column, order === "ascending" ? 1 : -1));
    body.append(...rows);
  }
}

// One stop of the Tab key a table; arrows go on from there.
function walk(table) {
  const buttons = () => [...table.querySelectorAll("td .c")];
  buttons().forEach((button, place) => (button.tabIndex = place ? -1 : 0));
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !step) return;
    event.preventDefault();
    const rows = [...table.rows];
    let [row, column] = [rows.indexOf(cell.parentElement), cell.cellIndex];
    for (;;) {
      [row, column] = [row + step[0], column + step[1]];
      if (!rows[row] || (step[1] && !rows[row].cells[column])) return;
      const target = rows[row].cells[column]?.querySelector(".c");
      if (!target) continue;
      buttons().forEach((button) => (button.tabIndex = -1));
      target.tabIndex = 0;
      target.focus();
      return;
    }
  });
}

// A number with its unit as a reader writes it: 700 KB, 0.23M, 80; NaN for anything else.
function amount(text) {
  const found = /^\s*([-+]?[\d.,]+)\s*([a-z%]*)\s*$/i.exec(text);
  const unit = found ? UNITS[found[2].toLowerCase()] : undefined;
  return unit === undefined ? NaN : Number(found[1].replaceAll(",", "")) * unit;
}

// The words of a column's head, as "params embedding".
const headOf = (head) => [...head.querySelector(".sort").childNodes].map((node) => node.textContent.trim()).join(" ").trim();

// Fields above a table: a part of a name, and a least or a largest number in a column.
function filter(table) {
  const rows = [...table.querySelectorAll("tr[data-row]")];
  if (rows.length < FEWEST) return;
  const name = make("input", { type: "search", placeholder: "part of a name", "aria-label": "Rows whose name has" });
  const column = make("select", { "aria-label": "Column" }, make("option", { value: "" }, "any number"));
  const side = make("select", { "aria-label": "Comparison" }, make("option", { value: "1" }, "at least"), make("option", { value: "-1" }, "at most"));
  const bound = make("input", { type: "text", inputmode: "decimal", placeholder: "80, 0.23M, 700 KB", "aria-label": "Number" });
  const count = make("output", { class: "count" });
  for (const head of table.tHead.rows[0].querySelectorAll("th[data-column]")) {
    if (rows.some((row) => rank(row, head.cellIndex) !== null)) column.append(make("option", { value: head.cellIndex }, headOf(head)));
  }
  const apply = () => {
    const words = name.value.toLowerCase().split(/\s+/).filter(Boolean);
    const least = amount(bound.value);
    bound.setAttribute("aria-invalid", bound.value !== "" && Number.isNaN(least));
    for (const row of rows) {
      const text = row.cells[0].textContent.toLowerCase();
      const value = column.value && !Number.isNaN(least) ? rank(row, Number(column.value)) : undefined;
      const fits = value === undefined || (value !== null && Number(side.value) * (value - least) >= 0);
      row.hidden = !(fits && words.every((word) => text.includes(word)));
    }
    for (const head of table.querySelectorAll("tr.section")) head.hidden = ![...head.parentElement.rows].some((row) => row !== head && !row.hidden);
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows; a click on a head sorts`;
  };
  for (const field of [name, column, side, bound]) field.addEventListener("input", apply);
  table.closest(".scroll").before(make("div", { class: "filter" }, name, column, side, bound, count));
  apply();
}

for (const table of document.querySelectorAll("table.results")) {
  filter(table);
  for (const head of table.tHead.rows[0].cells) head.querySelector(".sort").addEventListener("click", () => sort(table, head));
  walk(table);
}
