"use strict";
// What stands behind a cell: the runs with their seeds and scores, code, machine and data. And the difference of two rows.
const panel = document.getElementById("panel");

const text = (place) => (place === undefined || place === null ? "" : DATA.texts[place]);

// A number as the tables print it: taken to nine decimals first, since its last bits depend on the order of sums.
const decimals = (value, n) => Number(value.toFixed(9)).toFixed(n);

// The runs that count in a column: those of its tasks, or those that timed and counted the model.
function runsBehind(table, row, column) {
  const own = table.rows[row].runs;
  const all = [...new Set(column.ratio ? [...own, ...DATA.baseline] : own)].map((place) => DATA.runs[place]);
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
  const number = typeof score === "number" ? decimals(100 * score, 2) : "";
  const what = [text(run.task) || text(run.kind), run.seed === undefined ? "" : `seed ${run.seed}`].filter(Boolean).join(", ");
  const spent = `${(run.seconds ?? 0).toFixed(1)} s`;
  return make("tr", {}, make("th", { scope: "row" }, what, make("span", { class: "sub" }, text(run.model))),
    make("td", { class: "n", "data-run": run.id }, number), make("td", {}, make("code", {}, run.id.slice(0, 8))),
    make("td", {}, run.at ?? "", make("span", { class: "sub" }, spent)));
}

function facts(runs) {
  const list = make("dl");
  const distinct = (name) => [...new Set(runs.flatMap((run) => run[name] ?? []).map(text).filter(Boolean))];
  for (const [title, name] of [["encoder", "encoder"], ["commit", "commit"], ["data", "data"], ["machine", "machine"],
    ["software", "software"], ["notes", "notes"]]) {
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
    const link = event.target.closest(".c");
    if (!link || !DATA.tables?.[table.id] || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(link.closest("td"));
  }));
// The columns that compare two rows of a table: difference, half the width of its interval, in percent.
function differences(table, a, b) {
  const found = [];
  for (const pairs of table.pairs ?? []) {
    const [i, j] = [pairs.rows.indexOf(a), pairs.rows.indexOf(b)];
    if (i < 0 || j < 0 || i === j) continue;
    const [later, earlier] = [Math.max(i, j), Math.min(i, j)];
    const half = pairs.half[later][earlier];
    if (half === null) continue;
    found.push({ column: table.columns[pairs.column].title, by: (i > j ? 1 : -1) * pairs.by[later][earlier], half });
  }
  return found;
}

const signed = (value) => `${value < 0 ? "−" : "+"}${decimals(Math.abs(value), 1)}`;

// Two lists of rows above a table that compares some, and what their difference is in each column.
function comparer(grid) {
  const table = DATA.tables?.[grid.id];
  const places = [...new Set((table?.pairs ?? []).flatMap((pairs) => pairs.rows))].filter((place) => place !== null);
  if (places.length < 2) return;
  places.sort((a, b) => a - b);
  const lists = ["First model", "Second model"].map((label, at) => {
    const list = make("select", { "aria-label": label }, ...places.map((place) => make("option", { value: place }, table.rows[place].name)));
    list.selectedIndex = at;
    return list;
  });
  const body = make("tbody");
  const apply = () => {
    const [a, b] = lists.map((list) => Number(list.value));
    const found = differences(table, a, b);
    body.replaceChildren(...found.map(({ column, by, half }) => make("tr", {}, make("th", { scope: "row" }, column),
      make("td", {}, signed(by)), make("td", {}, `${signed(by - half)} to ${signed(by + half)}`),
      make("td", {}, make("strong", {}, Math.abs(by) > half ? `differ: ${table.rows[by > 0 ? a : b].name} is better` : "not separable")))));
    if (!found.length) body.append(make("tr", {}, make("td", {}, a === b ? "Choose two models." : "Not compared with each other: other budget, data, precision or encoder, or no seed in common.")));
  };
  for (const list of lists) list.addEventListener("input", apply);
  const head = make("tr", {}, ...["column", "first − second", "95 % interval of this pair", "verdict"].map((name) => make("th", { scope: "col" }, name)));
  grid.closest("article").append(make("details", { class: "more compare" }, make("summary", {}, "Do two models differ?"),
    make("div", { class: "filter" }, lists[0], make("span", {}, "minus"), lists[1]), make("table", { class: "claims" }, make("thead", {}, head), body)));
  apply();
}
document.querySelectorAll("table.results").forEach(comparer);

panel.addEventListener("click", (event) => {
  if (event.target === panel) panel.close(); // outside of what it holds
});
