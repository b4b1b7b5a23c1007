"use strict";
// Sorting by a click or a key on a column's head, and arrow keys from cell to cell.
const DATA = JSON.parse(document.getElementById("data").textContent);

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

for (const table of document.querySelectorAll("table.results")) {
  for (const head of table.tHead.rows[0].cells) head.querySelector(".sort").addEventListener("click", () => sort(table, head));
  walk(table);
}
