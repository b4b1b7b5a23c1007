"use strict";
// What stands behind a cell: the runs with their seeds and scores, code, machine and data.
const panel = document.getElementById("panel");

// An element with attributes and children; text is set as text, never read as markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const text = (place) => (place === undefined || place === null ? "" : DATA.texts[place]);

// The runs that count in a column: those of its tasks, or those that timed and counted the model.
function runsBehind(table, row, column) {
  const own = table.rows[row].runs;
  const all = [...new Set(column.ratio ? [...own, ...table.baseline] : own)].map((place) => DATA.runs[place]);
  const done = all.filter((run) => text(run.state) === "done");
  if (column.scored) return done.filter((run) => column.tasks.includes(text(run.task)));
  if (column.measure === "minutes") return done;
  for (const kind of ["efficiency", "pretrain"]) {
    const found = done.filter((run) => text(run.kind) === kind);
    if (found.length) return found;
  }
  return done.filter((run) => run.seed !== undefined); // trainings; a trivial baseline has no seed
}

function runRow(run, column) {
  const score = run.scores?.[column.reads];
  const number = typeof score === "number" ? (100 * score).toFixed(2) : "";
  const what = [text(run.task) || text(run.kind), run.seed === undefined ? "" : `seed ${run.seed}`].filter(Boolean).join(", ");
  const spent = `${(run.seconds ?? 0).toFixed(1)} s`;
  return make("tr", {}, make("th", { scope: "row" }, what, make("span", { class: "sub" }, text(run.model))),
    make("td", { class: "n", "data-run": run.id }, number), make("td", {}, make("code", {}, run.id.slice(0, 8))),
    make("td", {}, run.at ?? "", make("span", { class: "sub" }, spent)));
}

function facts(runs) {
  const list = make("dl");
  const distinct = (name) => [...new Set(runs.flatMap((run) => run[name] ?? []).map(text).filter(Boolean))];
  for (const [title, name] of [["encoder", "encoder"], ["commit", "commit"], ["machine", "machine"], ["software", "software"],
    ["data", "data"], ["notes", "notes"]]) {
    const found = distinct(name);
    if (!found.length) continue;
    list.append(make("dt", {}, title), make("dd", {}, ...found.map((one) => make("div", {}, one))));
  }
  return list;
}

function show(cell) {
  const grid = cell.closest("table");
  const table = DATA.tables[grid.id];
  const [row, place] = [Number(cell.parentElement.dataset.row), cell.cellIndex - 1];
  const column = table.columns[place];
  const runs = runsBehind(table, row, column);
  document.getElementById("panel-title").textContent = `${table.rows[row].name}: ${column.title}`;
  const body = document.getElementById("panel-body");
  const parts = [...cell.querySelectorAll(".v, .s, .p")].map((one) => one.cloneNode(true));
  body.replaceChildren(make("p", { class: "big" }, ...parts), make("p", { class: "sub" }, table.title));
  if (runs.length) {
    const head = make("tr", {}, ...["run", column.reads, "id", "finished"].map((name) => make("th", { scope: "col" }, name)));
    body.append(make("h3", {}, `${runs.length} run${runs.length > 1 ? "s" : ""}`), make("table", {},
      make("thead", {}, head), make("tbody", {}, ...runs.map((run) => runRow(run, column)))), make("h3", {}, "Made with"), facts(runs));
  } else {
    body.append(make("p", {}, "Counted from the specification; no run of its own stands behind it."));
  }
  panel.showModal();
  panel.scrollTop = 0;
}

document.querySelectorAll("table.results").forEach((table) =>
  table.addEventListener("click", (event) => {
    const button = event.target.closest(".c");
    if (button) show(button.closest("td"));
  }));
panel.addEventListener("click", (event) => {
  if (event.target === panel) panel.close(); // outside of what it holds
});
