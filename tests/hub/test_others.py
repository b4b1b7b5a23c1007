"""Data sets of other people, used by their names alone: in sweeps, `evaluate`, `data describe`, and as corpora."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.hub.client import StandIn
from tests.hub.others import FIRST, NEWEST, OF_SCRIPT

pytestmark = pytest.mark.services

EXPERIMENT = """
name: mine
data: builtin
encoder: tiny
models: [hashformer-md-proj]
seeds: [0]
floors: [majority]
tasks:
  - {name: rotten, hub: acme/rotten, text: text}
  - {name: topics, hub: acme/topics, config: en, text: text, metric: f1_macro}
  - {name: verdicts, hub: acme/verdicts, text: text}
  - {name: pairs, hub: acme/nested, text: [translation.de, translation.en], label: meta.score, metric: spearman}
  - {name: tagged, hub: acme/nested, text: answers.text, label: answers.tag, metric: span_f1}
  - {name: short, hub: acme/short, text: text, max_rows: 30}
  - {name: old, hub: acme/scripted, config: small, text: text}
pretrain: {corpora: [hub:acme/news:2024], steps: 2, batch_size: 2, sequence_length: 16}
finetune: {steps: 2, batch_size: 4, max_length: 16}
"""
READ = """
import json
from pathlib import Path
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import locate_task, own_task
found = {}
for name, keys in %s.items():
    data = locate_task(own_task(TaskEntry(name=name, **keys), Path.cwd()), ()).load()
    found[name] = {
        "rows": {split: len(part) for split, part in data.splits.items()},
        "first": [column[0] for column in next(iter(data.splits.values())).texts],
        "names": data.label_names,
        "select": data.task.select_splits, "report": data.task.report_splits,
        "origin": data.origin, "notes": data.notes, "fingerprint": data.fingerprint,
    }
print(json.dumps(found))
"""
SETS = {
    "rotten": {"hub": "acme/rotten", "text": "text"},
    "topics": {"hub": "acme/topics", "config": "de", "text": "text"},
    "verdicts": {"hub": "acme/verdicts", "text": "text"},
    "pairs": {"hub": "acme/nested", "text": ["translation.de", "translation.en"], "label": "meta.topic"},
    "short": {"hub": "acme/short", "text": "text"},
    "old": {"hub": "acme/scripted", "config": "small", "text": "text"},
    "sentences": {
        "hub": "acme/nested",
        "text": ["translation.de", "translation.en"],
        "metric": "pair_accuracy",
        "label": "meta.topic",
    },
    "named": {"hub": "acme/odd-splits", "text": "text", "splits": {"train": "first", "test": "second"}},
}
STORED = "select config from experiment"
NOWHERE = "http://127.0.0.1:9"


def written(hub: StandIn, text: str = EXPERIMENT) -> None:
    (hub.folder / "mine.yaml").write_text(text)


def stored_config(folder: Path) -> dict[str, object]:
    with sqlite3.connect(folder / "results.db") as database:
        ((text,),) = database.execute(STORED).fetchall()
    return dict(json.loads(text))


def test_splits_and_names_come_from_the_set(hub: StandIn) -> None:
    """By its layout, its features or its card; labels of test that are none are left out and noted. Again offline."""
    found = hub.python(READ % SETS)
    rows = {name: data["rows"] for name, data in found.items()}
    assert rows == {
        "rotten": {"train": 80, "validation": 20, "test": 20},
        "topics": {"train": 45, "validation": 15},
        "verdicts": {"train": 40, "validation": 16},
        "pairs": {"train": 48, "validation": 16, "test": 16},
        "short": {"train": 45, "holdout": 5, "test": 20},
        "old": {"train": 40, "validation": 16},
        "sentences": {"test": 16},
        "named": {"train": 27, "holdout": 3, "test": 30},
    }
    assert found["topics"]["names"] == ["sports", "politics", "science"]
    assert found["rotten"]["names"] == found["pairs"]["names"] == found["old"]["names"] == ["bad", "good"]
    assert len(found["pairs"]["first"]) == 2 and len(set(found["pairs"]["first"])) == 2
    assert (found["verdicts"]["select"], found["verdicts"]["report"]) == (["validation"], ["validation"])
    assert found["short"]["report"] == ["test"]
    assert "not read: test (no row of it has a label)" in found["verdicts"]["notes"]
    assert "texts also in train: 1 row of test" in found["short"]["notes"]
    facts = {
        name: next(note for note in data["notes"] if note.startswith("on the hub: ")) for name, data in found.items()
    }
    assert facts["rotten"].startswith("on the hub: licence mit, ") and facts["rotten"].endswith(" KB of files")
    assert facts["topics"].startswith("on the hub: config de, licence cc-by-4.0, ")
    assert facts["old"].startswith("on the hub: config small, licence apache-2.0, ")
    assert "licence not declared" in facts["short"]
    assert found["rotten"]["origin"] == f"hub acme/rotten@{NEWEST[:12]}"
    assert found["old"]["origin"] == f"hub acme/scripted@{OF_SCRIPT[:12]}"
    assert hub.python(READ % SETS, HF_HUB_OFFLINE="1") == found
    assert hub.python(READ % SETS, HF_ENDPOINT=NOWHERE) == found


def test_a_commit_is_read_and_named(hub: StandIn) -> None:
    """The rows of an earlier commit; the newest one by its name is the same data as without, also without a network."""
    sets = {
        name: {"hub": f"acme/rotten@{revision}", "text": "text"}
        for name, revision in (("first", FIRST), ("newest", NEWEST), ("branch", "main"))
    }
    found = hub.python(READ % {**sets, "open": SETS["rotten"]})
    assert {name: data["rows"]["train"] for name, data in found.items()} == {
        "first": 64, "newest": 80, "branch": 80, "open": 80
    }  # fmt: skip
    assert found["newest"]["fingerprint"] == found["open"]["fingerprint"] == found["branch"]["fingerprint"]
    assert found["first"]["fingerprint"] != found["open"]["fingerprint"]
    pinned = {"pinned": {"hub": f"acme/scripted@{OF_SCRIPT}", "config": "large", "text": "text"}}
    assert hub.python(READ % pinned)["pinned"]["rows"] == {"train": 40, "validation": 16}


def test_a_folder_of_the_same_name_is_not_read(hub: StandIn) -> None:
    """The package `datasets` would read it in place of the hub's."""
    folder = hub.folder / "acme" / "rotten"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text("text,label\na,0\nb,1\n")
    assert hub.python(READ % {"rotten": SETS["rotten"]})["rotten"]["rows"]["train"] == 80


def test_a_sweep_reads_sets_and_corpus_by_name(hub: StandIn) -> None:
    """Commits are stored, licences are on the page, and all of it is read again without a network."""
    written(hub)
    done = hub.hashbench("sweep", "mine.yaml")
    assert done.returncode == 0, done.stderr
    config = stored_config(hub.folder)
    assert isinstance(config["tasks"], list) and isinstance(config["pretrain"], dict)
    stored = {task["name"]: task["hub"] for task in config["tasks"]}
    assert stored["rotten"] == f"acme/rotten@{NEWEST}" and stored["old"] == f"acme/scripted@{OF_SCRIPT}"
    (corpus,) = config["pretrain"]["corpora"]
    assert corpus.startswith("hub:acme/news:2024@") and len(corpus) == len("hub:acme/news:2024@") + 40
    page = hub.hashbench("report", "mine", "--format", "html").stdout
    assert f"hub acme/rotten@{NEWEST[:12]}" in page
    for facts in ("licence mit, ", "config en, licence cc-by-4.0, ", "config 2024, licence cc0-1.0, "):
        assert f"on the hub: {facts}" in page
    hub.asked()
    again = hub.hashbench("sweep", "mine.yaml", HF_HUB_OFFLINE="1")
    assert again.returncode == 0 and not hub.asked(), again.stderr
    with sqlite3.connect(hub.folder / "results.db") as database:
        ((run,),) = database.execute("select id from run where kind = 'finetune' and task = 'rotten'").fetchall()
    for on, more in (
        ("hub:acme/short", ["--name", "further"]),
        ("hub:acme/verdicts", ["--labels", "guilty=bad,innocent=good"]),
    ):
        options = ["--on", on, *more]
        if on == "hub:acme/verdicts":
            options += ["--name", "judged"]
        evaluated = hub.hashbench("evaluate", run[:12], *options, HF_HUB_OFFLINE="1")
        assert evaluated.returncode == 0 and "accuracy" in evaluated.stdout, evaluated.stderr
    text = " ".join(hub.hashbench("report", "mine", "--provenance").stdout.split())
    assert "further set hub acme/short test@" in text and "further set hub acme/verdicts validation@" in text


def test_a_corpus_is_streamed_by_name(hub: StandIn) -> None:
    code = """
import json
from hashbench.data.sources.sources import locate_corpus
corpus = locate_corpus("hub:acme/news:2023", ())
shards, texts = corpus.shards(), list(corpus.documents())
print(json.dumps([corpus.name, len(shards), len(texts), sum((list(shard.texts()) for shard in shards), []) == texts]))
"""
    assert hub.python(code) == ["acme/news:2023", 3, 120, True]
    streamed = EXPERIMENT.replace("steps: 2, batch_size: 2", "streaming: true, steps: 2, batch_size: 2")
    written(hub, streamed.replace("  - {name: topics", "  # - {name: topics"))
    done = hub.hashbench("sweep", "mine.yaml", "tasks=[rotten]")
    assert done.returncode == 0, done.stderr
    text = " ".join(hub.hashbench("report", "mine", "--provenance").stdout.split())
    assert "on acme/news:2024 (hub acme/news@" in text and "licence cc0-1.0" in text and "streamed" in text


def test_describe(hub: StandIn) -> None:
    done = hub.hashbench("data", "describe", "hub:acme/topics:en", "--format", "json")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert described["origin"].startswith("hub acme/topics@")
    rows = {row["split"]: row["rows"] for table, of in described["tables"].items() if "texts" in table for row in of}
    assert rows == {"train": 45, "validation": 15}
    options = ["--text", "translation.de", "--text", "translation.en", "--label", "meta.score", "--metric", "spearman"]
    pair = hub.hashbench("data", "describe", "hub:acme/nested", *options, HF_HUB_OFFLINE="")
    assert pair.returncode == 0, pair.stderr


SCRIPT = "is a script, which the package datasets no longer runs, and"
WRONG = {
    "acme/nothing": "hub acme/nothing: the hub has nothing of this name; it was renamed, removed or made private; look "
    "for it on the hub, or name another data set",
    "test/gated": "hub test/gated: its authors ask for consent first; agree on its page, then log in: hf auth login",
    "test/script": f"hub test/script: {SCRIPT} the hub has no converted files of it; name another data set",
    "test/partial": f"hub test/partial train: {SCRIPT} of which the hub converted the first part only; name another ",
    "acme/topics": "hub acme/topics: has several configs, so name one: de, en",
    "acme/scripted": "hub acme/scripted: has several configs, so name one: large, small",
    "acme/odd-splits": "hub acme/odd-splits: no train split; it has first, second; name it: splits: {train: first, ",
    f"acme/rotten@{'a' * 40}": "hub acme/rotten: the hub has no such commit or branch of it; name another revision, or",
    "hub:acme/nothing": "hub acme/nothing: the hub has nothing of this name",
    "hub:test/gated": "hub test/gated: its authors ask for consent first; agree on its page, then log in",
    "hub:acme": "corpus hub:acme: 'acme' is no data set of the hub; write OWNER/NAME",
    "hub:acme/news": "hub acme/news: has several configs, so name one: 2023, 2024",
    "hub:acme/news:1999": "hub acme/news (1999): no config '1999'; it has 2023, 2024",
}
TRY = """
import json
from pathlib import Path
from hashbench.common.errors import InputError
from hashbench.data.sources.sources import locate_corpus
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import locate_task, own_task
found = {}
for name in %s:
    try:
        if name.startswith("hub:"):
            locate_corpus(name, ())
        else:
            locate_task(own_task(TaskEntry(name="x", hub=name, text="text"), Path.cwd()), ()).load()
    except InputError as error:
        found[name] = str(error)
print(json.dumps(found))
"""


def test_what_cannot_be_read_is_one_line(hub: StandIn) -> None:
    found = hub.python(TRY % list(WRONG))
    assert list(found) == list(WRONG)
    for name, message in WRONG.items():
        assert found[name].startswith(message) and "\n" not in found[name]


@pytest.mark.parametrize("name", ["acme/nothing", "test/gated"])
def test_the_line_of_the_file_is_named(hub: StandIn, name: str) -> None:
    """Of a task and of a corpus; exit code 2, and nothing else is printed, also by `data describe`."""
    written(hub, EXPERIMENT.replace("acme/rotten,", f"{name},"))
    corpus = EXPERIMENT.replace("hub:acme/news:2024", f"hub:{name}")
    (hub.folder / "corpus.yaml").write_text(corpus)
    for command, place in (
        (("sweep", "mine.yaml"), "mine.yaml:9: "),
        (("check", "corpus.yaml", "tasks=[]"), "corpus.yaml:16: "),
        (("data", "describe", f"hub:{name}"), ""),
    ):
        done = hub.hashbench(*command)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (2, "") and line == f"hashbench: {place}{WRONG[name]}"


def test_before_the_first_read_a_network_is_needed(hub: StandIn) -> None:
    """A sweep ends with one line; a dry run plans what it can."""
    written(hub)
    done = hub.hashbench("sweep", "mine.yaml", HF_HUB_OFFLINE="1")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith(
        "hashbench: mine.yaml:9: hub acme/rotten: HF_HUB_OFFLINE is set, and it was not fetched before"
    )
    dry = hub.hashbench("sweep", "mine.yaml", "--dry-run", HF_HUB_OFFLINE="1")
    assert dry.returncode == 0 and "not at hand: corpus hub:acme/news:2024, task " in dry.stdout
