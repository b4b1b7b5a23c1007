"""The notebook docs/first_hour.ipynb runs from an empty folder, and each of its commands ends well."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "first_hour.ipynb"
CHECK = "\nassert _exit_code == 0"


def test_no_stored_output_names_a_folder_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not [part for part in ("/tmp/", "/home/", "/root/", "/Users/") if part in text]


@pytest.mark.services
def test_every_cell_runs_and_every_command_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(NOTEBOOK, as_version=4)
    # The cells call hashbench and python as commands
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    commands = 0
    for cell in book.cells:
        if cell.cell_type == "code" and cell.source.startswith("!"):
            cell.source = "\n".join(f"{line}{CHECK}" for line in cell.source.splitlines())
            commands += cell.source.count(CHECK)
    assert commands >= 8
    nbclient.NotebookClient(
        book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert (tmp_path / "figures" / "differences.png").is_file()
    predicted = "".join(output.get("text", "") for output in book.cells[-2].outputs)
    assert "positive" in predicted or "negative" in predicted
