"""The public data sets, where a copy is at hand. Their texts never enter the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hashbench.data.sources.sources import Source, locate_corpus, open_sources
from hashbench.data.tasks.catalogue import available, find_task, load_task
from hashbench.data.tasks.named.glue import GROUPS

HERE = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ["HASHBENCH_TEST_DATA"] if "HASHBENCH_TEST_DATA" in os.environ else HERE.parent / "shared/data")
pytestmark = pytest.mark.skipif(
    not (FOLDER / "glue").is_dir(), reason="no real data: set HASHBENCH_TEST_DATA to a folder with glue/ and corpora/"
)


@pytest.fixture(scope="module")
def sources() -> tuple[Source, ...]:
    return open_sources(str(FOLDER))


@pytest.mark.parametrize("name", [*GROUPS["glue"], "wnli"])
def test_glue_task(name: str, sources: tuple[Source, ...]) -> None:
    data = load_task(find_task(name), sources)
    assert data.n_outputs == {"stsb": 1, "mnli": 3}.get(name, 2)
    complete = all(len(data.splits[split]) == rows for split, rows in data.task.official_rows.items())
    counted = (
        "repeated",
        "texts also in train",
        "texts under several ",
        "class shares differ by more than chance: ",
        "not in one Unicode normal form (NFC): 1 text of validation; ",
        "characters that show nothing: ",
    )
    sampled = [note for note in data.notes if not note.startswith(counted)]
    assert [note.startswith("sample: ") for note in sampled] == ([] if complete else [True])
    assert all(text.strip() for part in data.splits.values() for column in part.texts for text in column)


# Shares of the first-named class in GLUE's complete dev sets; a flipped label order would show.
@pytest.mark.parametrize(("name", "label", "share"), [("cola", 1, 0.691), ("sst2", 1, 0.509), ("rte", 0, 0.527)])
def test_label_ids_mean_what_glue_says(name: str, label: int, share: float, sources: tuple[Source, ...]) -> None:
    labels = load_task(find_task(name), sources).splits["validation"].labels
    assert (labels == label).mean() == pytest.approx(share, abs=0.001)


def test_wikipedia_is_read_as_a_stream(sources: tuple[Source, ...]) -> None:
    documents = list(locate_corpus("wikipedia", sources).documents(50))
    assert len(documents) == 50 and all(len(text) > 100 for text in documents)


def test_list_of_what_there_is(sources: tuple[Source, ...]) -> None:
    lines = available(sources)
    assert {line.name for line in lines if line.kind == "task"} >= set(GROUPS["glue"])
    assert {line.name for line in lines if line.note.startswith("sample: train ")} >= {"qqp", "mnli", "qnli"}
    assert not [line.note for line in lines if line.note and not line.note.startswith("sample: ")]
