"""What the installed package must carry beside its code; in continuous integration this looks into the wheel."""

import importlib
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import hashbench

EXAMPLE = Path(__file__).parent.parent / "results.db.example"
DATA_FILES = [
    "data/sources/hub.json",
    "results/papers/published/hashformers.csv",
    "results/papers/published/hashformers.yaml",
    "results/read/equal_code.csv",
    "results/rendering/page/static/page.css",
    "results/rendering/page/static/tables.js",
    "results/rendering/page/static/panel.js",
    "results/rendering/page/templates/claims.html",
    "results/rendering/page/templates/page.html",
    "results/rendering/page/templates/table.html",
    "store/readings.csv",
    "store/views.sql",
    "py.typed",
    "store/migrations/env.py",
    "store/migrations/versions/v0005_baseline.py",
]


@pytest.mark.parametrize("name", DATA_FILES)
def test_data_files_are_in_the_package(name):
    assert resources.files("hashbench").joinpath(name).is_file()


def test_the_version_is_the_installed_one():
    assert metadata.version("hashbench") == hashbench.__version__


def test_the_wheel_carries_the_experiment_files():
    if "site-packages" not in Path(hashbench.__file__).parts:
        pytest.skip("hashbench is installed from its sources")
    folder = Path(sys.prefix) / "share" / "hashbench" / "experiments"
    assert {"quickstart.yaml", "glue.yaml", "glue_tiny.yaml", "glue_mini.yaml"} <= {p.name for p in folder.iterdir()}


def test_results_is_offered_without_importing_anything_heavy():
    assert "results" in hashbench.__all__
    assert callable(hashbench.results)
    importlib.import_module(
        "hashbench.results.read.measured"
    )  # the room of that name is another road to the same table
    assert list(hashbench.results(EXAMPLE, "eelbert_tiny")["experiment"].unique()) == ["eelbert_tiny"]
    with pytest.raises(AttributeError, match="has no attribute 'resuts'"):
        _ = hashbench.resuts
