"""`hashbench plot`: the files it names, what it leaves out, and wrong input."""

from __future__ import annotations

from pathlib import Path

from hashbench.store.engine import open_results
from tests.cli.commands import Run, fails
from tests.databases.made_up import World, build


def test_the_files_are_printed_and_figures_without_data_are_named(run: Run) -> None:
    build(Path("results.db"), World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))
    outcome = run("plot", "-o", "figures", "--width", "single", "--format", "svg")
    files = outcome.out.splitlines()
    assert outcome.code == 0 and "figures/shares.svg" in files and all(Path(file).is_file() for file in files)
    assert "not drawn: deciles: no recall by frequency" in outcome.err


def test_an_unknown_name_is_one_line_and_exit_code_2(run: Run) -> None:
    build(Path("results.db"), World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))
    fails(run("plot", "paretto"), "no figure 'paretto'; did you mean 'pareto'?")


def test_an_experiment_in_the_place_of_a_figure_is_pointed_out(run: Run) -> None:
    build(Path("results.db"), World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))
    store = open_results("results.db")
    (name,) = (row["name"] for row in store.query("SELECT name FROM experiment"))
    store.close()
    fails(run("plot", name), f"{name!r} is an experiment; write: hashbench plot [FIGURE] --experiment {name}")
