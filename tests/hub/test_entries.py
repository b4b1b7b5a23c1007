"""Every data set that hashbench names, read through `datasets` and `huggingface_hub` from a stand-in for the hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.data.sources.fingerprints import read_note
from hashbench.data.sources.hub import hub_corpora
from hashbench.data.tasks.catalogue import known_tasks
from tests.hub.client import StandIn
from tests.hub.layouts import CONVERTED, repositories

pytestmark = pytest.mark.services

CORPORA = sorted(hub_corpora())
TASKS = sorted(name for name, task in known_tasks().items() if task.hub is not None)
READ = """
import json, sys
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task
from hashbench.data.tasks.catalogue import locate_task
found = {{}}
for name in {names}:
    data = locate_task(find_task(name), open_sources("hub")).load()
    found[name] = {{
        "rows": {{split: len(part) for split, part in data.splits.items()}},
        "first": [column[0] for column in next(iter(data.splits.values())).texts],
        "labels": sorted({{str(label) for label in next(iter(data.splits.values())).labels}})[:12],
        "notes": data.notes,
    }}
print(json.dumps(found))
"""
STREAM = """
import json
from hashbench.data.sources.sources import locate_corpus, open_sources
found = {}
for name in %s:
    source = locate_corpus(name, open_sources("hub"))
    texts = list(source.documents())
    found[name] = [source.revision, len(texts), texts[0]]
print(json.dumps(found))
"""


def test_the_stand_in_has_every_entry_at_its_revision() -> None:
    served = repositories()
    for place in [*hub_corpora().values(), *(known_tasks()[name].hub for name in TASKS)]:
        assert place is not None and place.repository in served
        assert place.revision is None or place.revision in served[place.repository].commits


def test_the_stand_in_answers_the_client_of_the_hub(hub: StandIn) -> None:
    """Branches by their encoded name, pages of a tree, single paths, ranges of a file, and what is not there."""
    code = """
import json
from huggingface_hub import HfApi, HfFileSystem
from huggingface_hub.errors import RemoteEntryNotFoundError, RevisionNotFoundError
api, name, branch = HfApi(), "eusip/silicone", "refs/convert/parquet"
tree = [entry.path for entry in api.list_repo_tree(name, repo_type="dataset", revision=branch, recursive=True)]
(info,) = api.get_paths_info(name, ["mrda/test/0000.parquet"], repo_type="dataset", revision=branch)
with HfFileSystem().open(f"datasets/{name}@{branch}/mrda/test/0000.parquet") as file:
    first = file.read(4).decode()
    file.seek(-4, 2)
    last = file.read().decode()
missing = []
for call, error in (
    (lambda: api.dataset_info(name, revision="v9"), RevisionNotFoundError),
    (lambda: api.hf_hub_download(name, "no.txt", repo_type="dataset"), RemoteEntryNotFoundError),
):
    try:
        call()
    except error as raised:
        missing.append(raised.response.status_code)
print(json.dumps([sorted(tree), info.size == file.size, first + last, missing]))
"""
    tree, same_size, magic, missing = hub.python(code)
    files = repositories()["eusip/silicone"].commits[repositories()["eusip/silicone"].branches[CONVERTED]]
    folders = {file.rsplit("/", n)[0] for file in files for n in (1, 2) if file.count("/") >= n}
    assert tree == sorted({*files, *folders})
    assert (same_size, magic, missing) == (True, "PAR1PAR1", [404, 404])


def test_every_task_is_read(hub: StandIn) -> None:
    """All rows that are published, GLUE's labels as ids, the others by their names; the same again without the hub."""
    found = hub.python(READ.format(names=TASKS))
    assert sorted(found) == TASKS
    for name, data in found.items():
        task = known_tasks()[name]
        published = task.hub.rows if task.hub and task.hub.rows and task.kind.learned else task.official_rows
        rows = data["rows"]
        if "holdout" in rows:
            rows["train"] += rows.pop("holdout")
        assert rows == published, name
        assert all(data["first"]) and len(data["first"]) == len(task.text)
        assert not any("sample" in note for note in data["notes"])
    assert found["mnli"]["labels"] == ["0", "1", "2"]
    assert len(found["mrda"]["labels"]) == len(found["atis"]["labels"]) == 5
    asked = hub.asked()
    assert any("refs%2Fconvert%2Fparquet" in line for line in asked)  # MRDA's
    assert any("cursor=" in line for line in asked)  # further pages of a tree
    assert any("/_storage/" in line for line in asked)


def test_what_was_read_is_there_without_the_hub(hub: StandIn) -> None:
    """At the very commit, and at once."""
    names = ["rte", "atis", "mrda"]
    first = hub.python(READ.format(names=names))
    assert hub.python(READ.format(names=names), HF_ENDPOINT="http://127.0.0.1:9") == first


def test_every_corpus_is_streamed(hub: StandIn) -> None:
    """In the order of the files; the newest commit of the one that is not pinned is remembered."""
    found = hub.python(STREAM % CORPORA)
    served = repositories()
    assert {name: rows for name, (_, rows, _) in found.items()} == {
        "bookcorpus": 400, "openwebtext": 150, "wikipedia": 180
    }  # fmt: skip
    for name, (revision, _, text) in found.items():
        place = hub_corpora()[name]
        assert revision == (place.revision or served[place.repository].branches["main"])
        assert text
    (note,) = (hub.folder / "cache" / "hub").iterdir()
    kept = read_note(note)
    assert kept is not None and kept["repository"] == "rojagtap/bookcorpus"
    assert any("Range" not in line and "bytes=" in line for line in hub.asked())  # pieces of files


def test_the_shards_of_a_corpus_are_its_files(hub: StandIn) -> None:
    """Together they hold its texts, in order; each can be read alone, from any document on."""
    code = """
import json
from hashbench.data.sources.sources import locate_corpus, open_sources
found = {}
for name in %s:
    source = locate_corpus(name, open_sources("hub"))
    shards, whole = source.shards(), list(source.documents())
    parts = [list(shard.texts()) for shard in shards]
    rest = [text for text in shards[-1].texts(3)]
    found[name] = [len(shards), sum(parts, []) == whole, rest == parts[-1][3:], len({s.name for s in shards})]
print(json.dumps(found))
"""
    found = hub.python(code % CORPORA)
    assert all(row[1:] == [True, True, row[0]] for row in found.values())
    assert max(row[0] for row in found.values()) > 1


def test_every_corpus_is_prepared(hub: StandIn) -> None:
    """`data prepare` by the command line; the commits stand with what was prepared."""
    experiment = f"""
name: corpora
data: hub
encoder: tiny
models: [hashformer-md-proj]
tasks: []
seeds: [0]
pretrain: {{corpora: [{", ".join(CORPORA)}], steps: 2, batch_size: 2, sequence_length: 16}}
"""
    (hub.folder / "corpora.yaml").write_text(experiment)
    done = hub.hashbench("data", "prepare", "corpora.yaml")
    assert done.returncode == 0, done.stderr
    place, _, counts = done.stdout.strip().partition(": ")
    manifest = json.loads((Path(place) / "manifest.json").read_text())
    assert {part["name"]: part["documents"] for part in manifest["corpora"]} == {
        "bookcorpus": 400, "openwebtext": 150, "wikipedia": 180
    }  # fmt: skip
    assert all(len(part["revision"]) == 40 for part in manifest["corpora"])
    assert counts == f"{manifest['tokens']:,} tokens of {manifest['types']:,} types"
    # What was prepared is not asked for again
    hub.asked()
    again = hub.hashbench("data", "prepare", "corpora.yaml", HF_ENDPOINT="http://127.0.0.1:9")
    assert (again.returncode, again.stdout) == (0, done.stdout), again.stderr
