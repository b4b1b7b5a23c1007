"""What commands print, and reports as files: whole or not at all, and whatever the output is."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from hashbench.cli.output import print_tables, write_output
from hashbench.common.errors import InputError
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.store.engine import Store


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "page.html"
    output.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_output(output, "new")
    assert output.read_text() == "old" and list(tmp_path.iterdir()) == [output]


def test_the_rights_of_a_file_that_was_there_stay(tmp_path: Path) -> None:
    output = tmp_path / "table.md"
    output.write_text("old")
    output.chmod(0o640)
    write_output(output, "new")
    assert output.read_text() == "new" and output.stat().st_mode & 0o777 == 0o640


def test_a_link_goes_on_pointing_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    write_output(tmp_path / "link.md", "new")
    assert (tmp_path / "link.md").is_symlink() and (tmp_path / "real.md").read_text() == "new"


def test_a_pipe_gets_the_text(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_output(pipe, "table")
    reader.join(10)
    assert read == ["table"] and not pipe.is_file()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--output .*/no/x: No such file or directory; give a file in a folder"):
        write_output(tmp_path / "no" / "x", "")


def test_machine_output_holds_rows_alone_and_the_loud_lines_go_to_stderr_once(
    small_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    print_tables(tables(small_store, ReportRequest(table="1,2")), "csv")
    printed = capsys.readouterr()
    assert printed.out.startswith("paper,table,model,column,value,") and "SAMPLED" not in printed.out
    assert "!! SAMPLED DATA: sst2" in printed.err
    assert len(printed.err.splitlines()) == 3  # sampled data, the scale, and a baseline that learned nothing


def test_the_text_is_also_written_to_a_file(
    small_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_tables(tables(small_store), "md", tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == capsys.readouterr().out


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a file in a folder that exists"):
        write_output(tmp_path, "")
    assert list(tmp_path.iterdir()) == []
