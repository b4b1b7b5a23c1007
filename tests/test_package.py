"""What the installed package must carry beside its code; in continuous integration this looks into the wheel."""

import importlib
from importlib import metadata, resources
from pathlib import Path

import pytest

import hashbench
from hashbench.common import shipped

EXAMPLE = Path(__file__).parent.parent / "results.db.example"
DATA_FILES = [
    "cli/templates/experiment.yaml",
    "cli/templates/own_model.txt",
    "data/sources/hub.json",
    "results/papers/published/hashformers.csv",
    "results/papers/published/hashformers.yaml",
    "results/read/equal_code.csv",
    "results/rendering/page/static/page.css",
    "results/rendering/page/static/tables.js",
    "results/rendering/page/static/panel.js",
    "results/rendering/page/templates/base.html",
    "results/rendering/page/templates/board.html",
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


def test_the_wheel_carries_the_experiments_and_the_example(tmp_path, monkeypatch):
    if "site-packages" not in Path(hashbench.__file__).parts:
        pytest.skip("hashbench is installed from its sources")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert (shipped.PACKED / "example.db.xz").stat().st_size < 0.4 * EXAMPLE.stat().st_size, "not compressed"
    for file in (EXAMPLE.parent / "experiments").iterdir():
        assert (shipped.PACKED / "experiments" / file.name).read_bytes() == file.read_bytes()
    assert shipped.example_database.__wrapped__().read_bytes() == EXAMPLE.read_bytes()


def test_results_is_offered_without_importing_anything_heavy():
    assert "results" in hashbench.__all__
    assert callable(hashbench.results)
    importlib.import_module(
        "hashbench.results.read.measured"
    )  # the room of that name is another road to the same table
    assert list(hashbench.results(EXAMPLE, "eelbert_tiny")["experiment"].unique()) == ["eelbert_tiny"]
    with pytest.raises(AttributeError, match="has no attribute 'resuts'"):
        _ = hashbench.resuts
