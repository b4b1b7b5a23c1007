"""Tasks of many languages: their names, where a data folder and the hub hold them, and names that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.hub import HubTable
from hashbench.data.sources.sources import locate_corpus, open_sources
from hashbench.data.tasks.catalogue import expand_tasks, find_task, load_task, locate_task
from hashbench.data.tasks.named.public import LANGUAGE_TASKS, LANGUAGES, TOPICS


def test_the_group_is_every_language(tmp_path: Path) -> None:
    tasks = expand_tasks("sib200", tmp_path)
    assert [task.part for task in tasks] == list(LANGUAGES) and len(tasks) == 13


@pytest.mark.parametrize("task", LANGUAGE_TASKS, ids=lambda task: task.part)
def test_a_language_is_grouped_by_its_script(task) -> None:
    assert set(task.traits) == {"language", "script"} and task.name == f"sib200:{task.part}"


@pytest.mark.parametrize(
    ("name", "near"),
    [("sib200:hin_Dev", "hin_Deva"), ("sib200:Thai", "tha_Thai"), ("sib200:chinese", "zho_Hans")],
)
def test_an_unknown_language_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError, match=rf"^unknown task '{name}': sib200 has no .*; did you mean '?sib200:{near}'"):
        find_task(name)


def test_an_unknown_language_that_is_like_none_lists_them() -> None:
    with pytest.raises(InputError, match="^unknown task 'sib200:xx': sib200 has no 'xx'; there are eng_Latn, deu_Latn"):
        find_task("sib200:xx")


def test_a_data_folder_holds_a_language_in_a_folder_of_its_own(tmp_path: Path) -> None:
    home = tmp_path / "multilingual" / "sib200" / "fin_Latn"
    home.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        rows = [{"text": f"{topic} {split}", "category": topic} for topic in TOPICS]
        (home / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = load_task(find_task("sib200:fin_Latn"), open_sources(str(tmp_path)))
    assert (data.label_names, data.splits["test"].labels.tolist()) == (TOPICS, list(range(7)))
    with pytest.raises(InputError, match=r"a data folder holds multilingual/sib200/deu_Latn/train\.parquet"):
        load_task(find_task("sib200:deu_Latn"), open_sources(str(tmp_path)))


@pytest.mark.parametrize(
    ("name", "repository", "config", "columns"),
    [
        ("sib200:tam_Taml", "Davlan/sib200", "tam_Taml", {"text": ("text",), "category": ("category",)}),
        (
            "wisesight",
            "pythainlp/wisesight_sentiment",
            None,
            {"text": ("texts",), "category": ("category",)},
        ),
        ("jsts", "shunk031/JGLUE", "JSTS", {"sentence1": ("sentence1",), "label": ("label",)}),
        ("trec", "CogComp/trec", None, {"text": ("text",), "label": ("coarse_label",)}),
    ],
)
def test_the_hub_has_every_task_by_name(name: str, repository: str, config: str | None, columns: dict) -> None:
    table = locate_task(find_task(name), open_sources("hub")).tables["train"]
    assert isinstance(table, HubTable) and (table.place.repository, table.place.config) == (repository, config)
    assert table.sources_of(list(columns)) == columns


def test_a_copy_of_the_hub_with_other_rows_is_expected_to_have_them() -> None:
    located = locate_task(find_task("wisesight"), open_sources("hub"))
    assert located.task.official_rows == {"train": 21_628, "validation": 2_404, "test": 2_671}


def test_the_train_texts_of_all_languages_are_a_corpus(tmp_path: Path) -> None:
    for code in ("fin_Latn", "deu_Latn"):
        home = tmp_path / "multilingual" / "sib200" / code
        home.mkdir(parents=True)
        for split in ("train", "test"):
            (home / f"{split}.jsonl").write_text(json.dumps({"text": f"{code} {split}", "category": "travel"}))
    corpus = locate_corpus("sib200", open_sources(str(tmp_path)))
    assert list(corpus.documents()) == ["deu_Latn train", "fin_Latn train"]
    assert open_sources(str(tmp_path))[0].find_corpus("sib201") is None
