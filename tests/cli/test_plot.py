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
    assert "not drawn: pretraining: no model was fine-tuned from two steps" in outcome.err


def test_an_unknown_name_is_one_line_and_exit_code_2(run: Run) -> None:
    build(Path("results.db"), World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))
    fails(run("plot", "paretto"), "no figure 'paretto'; did you mean 'pareto'?")
    fails(run("plot", "made-pu"), "neither a figure nor an experiment is called 'made-pu'; did you mean 'made-up'?")
    fails(run("plot", "zzz"), "no figure 'zzz'; there are: ")


def test_the_experiment_may_stand_among_the_figures(run: Run) -> None:
    build(Path("results.db"), World(models=("bert-mlm",), tasks=("cola",), seeds=(0,)))
    store = open_results("results.db")
    (name,) = (row["name"] for row in store.query("SELECT name FROM experiment"))
    store.close()
    outcome = run("plot", name, "shares", "--format", "svg", "-o", "figures")
    assert (outcome.code, outcome.out) == (0, "figures/shares.svg\n")
    fails(run("plot", "shares", name, "--experiment", "other"), f"of one experiment; given are {name} and other")
