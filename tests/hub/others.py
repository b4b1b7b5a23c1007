"""Data sets in the layouts of other people, which no table of hashbench names: a user names them.

acme/rotten has shards with hashes in their names, acme/topics several configs whose card names the classes,
acme/verdicts -1 for the unlabelled rows of test, acme/nested columns in columns, acme/short no validation split.
acme/scripted is a script that the hub converted, acme/news a corpus.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hub.layouts import (
    CONVERTED,
    MAIN,
    File,
    Repository,
    Rows,
    at,
    by_script,
    commit_of,
    parquet,
    plain,
    shards,
    text,
)

MOODS = ("bad", "good")
TOPICS_OF_NEWS = ("sports", "politics", "science")
TAGS = ("O", "B-animal", "I-animal")


def table(name: str, n: int, classes: int, *, label: int | None = None) -> list[dict[str, Any]]:
    """Rows with a text and a number; `label`: the same one in all rows."""
    return [
        {"text": f"{text(name, row)} {name.replace('/', ' ')}", "label": row % classes if label is None else label}
        for row in range(n)
    ]


def written(rows: Sequence[Mapping[str, Any]], features: Mapping[str, Any] | None = None) -> File:
    """A parquet file, with the features that the library `datasets` would write into it."""

    @cache
    def make() -> bytes:
        content, sink = pa.Table.from_pylist(list(map(dict, rows))), io.BytesIO()
        if features is not None:
            info = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
            content = content.replace_schema_metadata(info)
        pq.write_table(content, sink)
        return sink.getvalue()

    return make


def lines(rows: Sequence[Mapping[str, Any]]) -> File:
    """A JSONL file."""
    return plain("".join(json.dumps(row) + "\n" for row in rows))


def named(names: Sequence[str]) -> dict[str, Any]:
    """A ClassLabel as a parquet file has it."""
    return {"names": list(names), "_type": "ClassLabel"}


TEXT = {"dtype": "string", "_type": "Value"}


def licensed(repository: Repository, licence: str) -> Repository:
    """The data set with a licence in its card."""
    return Repository(repository.branches, repository.commits, repository.moved_to, repository.gated, licence)


def rotten(n_train: int = 64) -> Repository:
    """Two shards of train with hashes behind their numbers, and no card that names them."""
    features = {"text": TEXT, "label": named(MOODS)}
    rows = table("rotten train", n_train, 2)
    files = {
        f"data/train-{number:05d}-of-00002-3fa1c2d4e5b60718.parquet": written(rows[number::2], features)
        for number in range(2)
    }
    for split, hashed in (("validation", "9e107d9d372bb682"), ("test", "e4d909c290d0fb1c")):
        rows = table(f"rotten {split}", 20, 2)
        files[f"data/{split}-00000-of-00001-{hashed}.parquet"] = written(rows, features)
    return licensed(at(commit_of(f"rotten {n_train}"), {"README.md": plain("# Card\n"), **files}), "mit")


def two_commits() -> Repository:
    """rotten with a later commit on main, which has more rows; both can be read."""
    first, later = rotten(), rotten(80)
    return Repository(later.branches, {**first.commits, **later.commits}, licence="mit")


TOPICS_CARD = """---
license: [cc-by-4.0, other]
configs:
{configs}dataset_info:
{infos}---
# Card
"""
CONFIG = """- config_name: {name}
  data_files:
  - split: train
    path: {name}/train.parquet
  - split: dev
    path: {name}/dev.parquet
"""
INFO = """- config_name: {name}
  features:
  - name: text
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': sports
          '1': politics
          '2': science
"""


def topics() -> Repository:
    """Configs en and de; the card names the classes, and the files, written by another library, do not."""
    configs = "".join(CONFIG.format(name=name) for name in ("de", "en"))
    infos = "".join(INFO.format(name=name) for name in ("de", "en"))
    files: dict[str, File] = {"README.md": plain(TOPICS_CARD.format(configs=configs, infos=infos))}
    for name in ("de", "en"):
        for split, n in (("train", 45), ("dev", 15)):
            files[f"{name}/{split}.parquet"] = written(table(f"topics {name} {split}", n, 3))
    return licensed(at(commit_of("topics"), files), "cc-by-4.0")


def verdicts() -> Repository:
    """Test has -1 in all rows, as sets of competitions have."""
    features = {"text": TEXT, "label": named(("guilty", "innocent"))}
    files = {
        f"{split}.parquet": written(table(f"verdicts {split}", n, 2, label=-1 if split == "test" else None), features)
        for split, n in (("train", 40), ("validation", 16), ("test", 16))
    }
    return at(commit_of("verdicts"), files)


def nested_row(name: str, row: int) -> dict[str, Any]:
    """A row with a translation, a score, and words with tags, each within a column."""
    words = text(name, row).split()
    tags = [1 if word in ("cats", "dogs", "birds") else 0 for word in words]
    return {
        "translation": {"de": f"{text(f'{name} de', row)} {row}", "en": f"{text(f'{name} en', row)} {row}"},
        "meta": {"score": (row % 7) / 2, "topic": row % 2},
        "answers": {"text": [*words, name], "tag": [*tags, 0]},
    }


def nested() -> Repository:
    """`translation: {de, en}`, `meta: {score, topic}` and `answers: {text, tag}`, lists of words and tags."""
    features = {
        "translation": {"languages": ["de", "en"], "_type": "Translation"},
        "meta": {"score": {"dtype": "float64", "_type": "Value"}, "topic": named(MOODS)},
        "answers": {
            "text": {"feature": TEXT, "_type": "List"},
            "tag": {"feature": named(TAGS), "_type": "List"},
        },
    }
    files = {
        f"data/{split}-00000-of-00001.parquet": written(
            [nested_row(f"nested-{split}", row) for row in range(n)], features
        )
        for split, n in (("train", 48), ("validation", 16), ("test", 16))
    }
    return at(commit_of("nested"), files)


def short() -> Repository:
    """Lines of JSON with names of classes, no validation split, and a row of test that is in train."""
    rows = {split: table(f"short {split}", n, 2) for split, n in (("train", 50), ("test", 20))}
    rows["test"][0] = rows["train"][0]
    files = {
        f"{split}.jsonl": lines([{"text": row["text"], "label": MOODS[row["label"]]} for row in of])
        for split, of in rows.items()
    }
    return at(commit_of("short"), {"README.md": plain("# Card\n"), **files})


def scripted() -> Repository:
    """A script on main, and two configs on the branch of converted files."""
    features = {"text": TEXT, "label": named(MOODS)}
    files = {
        f"{config}/{split}/0000.parquet": written(table(f"scripted {config} {split}", n, 2), features)
        for config in ("large", "small")
        for split, n in (("train", 40), ("validation", 16))
    }
    return licensed(by_script("acme/scripted", files), "apache-2.0")


def news() -> Repository:
    """A corpus of two configs, each in three shards."""
    columns = Rows(120, ("text",), ids=("id",))
    configs = "".join(
        f"- config_name: '{year}'\n  data_files:\n  - split: train\n    path: {year}/part-*\n" for year in (2023, 2024)
    )
    files: dict[str, File] = {"README.md": plain(f"---\nlicense: cc0-1.0\nconfigs:\n{configs}---\n# Card\n")}
    for year in (2023, 2024):
        files |= shards(f"{year}/part", columns, 3)
    return licensed(at(commit_of("news"), files), "cc0-1.0")


def without_train() -> Repository:
    """Splits whose names say nothing."""
    few = Rows(30, ("text",), {"label": 2})
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n"
    card += "".join(f"  - split: {name}\n    path: {name}.parquet\n" for name in ("first", "second"))
    files = {f"{name}.parquet": parquet(name, few) for name in ("first", "second")}
    return at(commit_of("without train"), {"README.md": plain(f"{card}---\n"), **files})


def others() -> dict[str, Repository]:
    """The data sets by their names."""
    return {
        "acme/rotten": two_commits(),
        "acme/topics": topics(),
        "acme/verdicts": verdicts(),
        "acme/nested": nested(),
        "acme/short": short(),
        "acme/scripted": scripted(),
        "acme/news": news(),
        "acme/odd-splits": without_train(),
    }


FIRST = commit_of("rotten 64")  # the commit of acme/rotten before the newest
NEWEST = two_commits().branches[MAIN]
OF_SCRIPT = scripted().branches[CONVERTED]
