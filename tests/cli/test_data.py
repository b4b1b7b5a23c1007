"""`data list`: what the sources have; `data check`: what the hub has (tests/hub asks a server); `data links`."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest

from hashbench.data.sources.hub_copies import HubCopy
from hashbench.running.experiment import hub_check
from hashbench.running.experiment.hub_check import HubEntry, HubFinding
from tests.cli.commands import Run, fails
from tests.data.sources.dumps.wiki_dumps import Dumped, write_dump
from tests.databases.empty import new_store


def test_data_list(run: Run) -> None:
    rows = json.loads(run("data", "list", "--data", "builtin", "--format", "json").out)
    assert [row["name"] for row in rows if row["kind"] == "task"].count("cola") == 1
    assert "builtin" in [row["name"] for row in rows if row["kind"] == "corpus"]


@pytest.mark.parametrize("problem", ["", "train has 1 rows, published are 2"])
def test_data_check(run: Run, monkeypatch: pytest.MonkeyPatch, problem: str) -> None:
    """A line for each entry; a commit that is not pinned is printed whole; exit code 1 for a problem."""

    def check_hub(entries: list[HubEntry]) -> list[HubFinding]:
        return [HubFinding(entry, HubCopy("c0ffee" * 6), {"train": 1}, problem) for entry in entries]

    monkeypatch.setattr(hub_check, "check_hub", check_hub)
    done = run("data", "check", "rte", "bookcorpus", "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert done.code == (1 if problem else 0)
    assert rows["rte"] == {
        "name": "rte", "from": "nyu-mll/glue (rte)", "commit": "c0ffeec0ffee", "branch": "main", "pinned": "yes",
        "rows": "train 1", "finding": problem or "ok",
    }  # fmt: skip
    assert rows["bookcorpus"]["pinned"] == "no"
    assert done.err == f"not pinned: bookcorpus stays at revision {'c0ffee' * 6}\n"


def test_data_check_of_what_is_not_there(run: Run) -> None:
    message = "data check: nothing called 'wikipedea' is read from the hub; did you mean 'wikipedia'?"
    fails(run("data", "check", "wikipedea"), message)


def test_data_links_makes_a_set_and_says_what_it_holds(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path, [Dumped("A", "[[b]] [[C]]"), Dumped("B", "[[A]] [[A#x]]"), Dumped("C", redirect="B")])
    made = run("data", "links", "--dump", str(dump), "--out", str(tmp_path / "data"))
    assert made.out.splitlines() == [
        f"{tmp_path}/data/entities/links.parquet: 2 pages, 2 links",
        "redirects: 1, of which 0 lead to no page",
        "links left out, since they repeat one, lead to no page or to their own: 2",
    ]
    assert "one process reads it; for several take the multistream dump with its index" in made.err
    fails(
        run("data", "links", "--dump", str(dump), "--out", str(tmp_path / "data")),
        "is there already; give another --out",
    )


def test_data_links_says_what_is_wrong_with_a_dump(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "x.bz2"
    text.write_text("plain")
    fails(
        run("data", "links", "--dump", str(text), "--out", str(tmp_path / "data")), "x.bz2: is not compressed by bzip2"
    )
    fails(
        run("data", "links", "--dump", str(tmp_path / "none"), "--out", str(tmp_path / "data")),
        "no such file; check the path",
    )
    text.write_bytes(bz2.compress(b"<feed/>"))
    fails(run("data", "links", "--dump", str(text), "--out", str(tmp_path / "data")), "x.bz2: is no XML dump of a wiki")


def test_predictions_are_imported_from_a_file(run: Run, tmp_path: Path) -> None:
    new_store(tmp_path / "r.db").close()
    for given, complaint in (
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "no.jsonl", "no such file; check the"),
    ):
        options = ("--task", "cola", "--name", "other", "--db", str(tmp_path / "r.db"))
        fails(run("data", "import-predictions", str(given), *options), f"{given}: {complaint}")


def test_data_describe(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path))
    done = run("data", "describe", "cola", "--data", "builtin", "--max-length", "8")
    assert done.code == 0 and done.out.startswith("cola: built-in data\n\ntexts (words: of tokenizer unicode")
    assert "shares of classes (%)\nclass         train  validation\nunacceptable" in done.out
    record = json.loads(run("data", "describe", "cola", "--data", "builtin", "--format", "json").out)
    assert next(iter(record["tables"].values()))[0]["rows"] == 1000
    fails(run("data", "describe", "cola", "--data", "builtin", "--model", "bert"), "unknown model 'bert'")


def test_data_import_predictions_of_no_file(run: Run, tmp_path: Path) -> None:
    arguments = ("--task", "cola", "--name", "x", "--db", str(tmp_path / "none.db"))
    fails(run("data", "import-predictions", "x.jsonl", *arguments), "none.db: no such database")
