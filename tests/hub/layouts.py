"""The data sets that hashbench reads from the hub, laid out as the hub has them.

Texts are made up; names of files, columns and numbers of rows are the hub's. What is known of a layout and what is only
assumed stands beside it: "known" means that public code reads these very files, "assumed" that nobody was found to.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from hashbench.data.tasks.named.public import LANGUAGES, TOPICS

MAIN, CONVERTED = "main", "refs/convert/parquet"
WIKIPEDIA = "b04c8d1ceb2f5cd4588862100d08de323dccfbaa"
GLUE = "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"
OPENWEBTEXT = "79d93d786212f7344586290adb811d4ae6a1762c"
AG_NEWS = "eb185aade064a813bc0b7f42de02595523103ca4"
YAHOO_ANSWERS = "6652a1e7c94f7260a0bfd0c9092dd48e2d536ea1"

WORDS = ("cats", "sit", "on", "mats", "while", "small", "dogs", "run", "after", "red", "balls", "and", "birds", "sing")
TEXTS = 60  # different ones in a column
File = Callable[[], bytes]  # made when it is first asked for


@dataclass(frozen=True)
class Repository:
    """A data set on the stand-in: its branches, and the files of each commit."""

    branches: Mapping[str, str]  # branch -> commit
    commits: Mapping[str, Mapping[str, File]]  # commit -> path -> file
    moved_to: str | None = None  # the name it was given later
    gated: bool = False
    licence: str = ""  # as its card names it

    def commit(self, revision: str) -> str | None:
        """The commit of a branch or of a commit's own name."""
        return self.branches.get(revision, revision if revision in self.commits else None)


@dataclass(frozen=True)
class Rows:
    """A table: its number of rows and what its columns hold."""

    rows: int
    texts: tuple[str, ...]
    labels: Mapping[str, int] = field(default_factory=dict)  # column -> classes; 0 for scores from 0 to 5
    ids: tuple[str, ...] = ()
    strings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> the values it repeats

    def table(self, name: str) -> pa.Table:
        """The rows of the file `name`, the same at every call."""
        order = np.arange(self.rows)
        columns: dict[str, pa.Array] = {column: pa.array(order.astype(np.int32)) for column in self.ids}
        for column in self.texts:
            columns[column] = repeated([text(f"{name} {column}", number) for number in range(TEXTS)], order)
        for column, values in self.strings.items():
            columns[column] = repeated(list(values), order)
        for column, classes in self.labels.items():
            columns[column] = pa.array(order % classes if classes else (order % 51 / 10).astype(np.float32))
        return pa.table(columns)

    def part(self, number: int, of: int) -> Rows:
        """One of several files of nearly equal length."""
        begin, end = self.rows * number // of, self.rows * (number + 1) // of
        return Rows(end - begin, self.texts, self.labels, self.ids, self.strings)


def repeated(values: list[str], order: np.ndarray) -> pa.Array:
    """The values in turn, as many as `order` is long."""
    return pa.DictionaryArray.from_arrays(pa.array(order % len(values)), pa.array(values)).cast(pa.string())


def text(name: str, number: int) -> str:
    """A sentence of six to ten words."""
    random = np.random.RandomState(int(hashlib.sha256(f"{name} {number}".encode()).hexdigest()[:8], 16))
    return " ".join(WORDS[i] for i in random.randint(0, len(WORDS), random.randint(6, 11)))


def parquet(name: str, rows: Rows) -> File:
    """A parquet file of several row groups."""

    @cache
    def make() -> bytes:
        sink = io.BytesIO()
        pq.write_table(rows.table(name), sink, row_group_size=max(1, min(100_000, rows.rows // 3)))
        return sink.getvalue()

    return make


def csv(name: str, rows: Rows) -> File:
    """A CSV file with a header."""

    @cache
    def make() -> bytes:
        sink = io.BytesIO()
        pyarrow.csv.write_csv(rows.table(name), sink)
        return sink.getvalue()

    return make


def plain(content: str) -> File:
    """A text file."""
    return lambda: content.encode()


def shards(pattern: str, rows: Rows, of: int) -> dict[str, File]:
    """Parquet files train-00000-of-00003.parquet and so on; `pattern` ends before the number."""
    return {
        f"{pattern}-{number:05d}-of-{of:05d}.parquet": parquet(f"{pattern} {number}", rows.part(number, of))
        for number in range(of)
    }


def card(configs: Mapping[str, Mapping[str, str]]) -> File:
    """A README whose head names the configs and the files of their splits: {config: {split: pattern}}."""
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        lines += [line for split, path in splits.items() for line in (f"  - split: {split}", f"    path: {path}")]
    return plain("\n".join([*lines, "---", "# Card", ""]))


def commit_of(name: str) -> str:
    """A commit's name for a data set of which none is known."""
    return hashlib.sha1(name.encode()).hexdigest()


def at(commit: str, files: Mapping[str, File], *, gated: bool = False) -> Repository:
    """A data set with one commit on main."""
    return Repository({MAIN: commit}, {commit: {".gitattributes": plain(""), **files}}, gated=gated)


def by_script(name: str, converted: Mapping[str, File] | None) -> Repository:
    """A data set whose main branch is a loading script, and what the hub made of it."""
    script = {"README.md": plain("# Card\n"), f"{name.partition('/')[2]}.py": plain("import datasets\n")}
    branches, commits = {MAIN: commit_of(name)}, {commit_of(name): script}
    if converted is not None:
        branches[CONVERTED] = commit_of(f"{name} converted")
        commits[branches[CONVERTED]] = {".gitattributes": plain(""), **converted}
    return Repository(branches, commits)


# Known: the splits, their rows and columns of GLUE; test has -1 for a label on the hub, which nobody reads here.
GLUE_TASKS: dict[str, tuple[tuple[str, ...], int, dict[str, int]]] = {
    "cola": (("sentence",), 2, {"train": 8_551, "validation": 1_043, "test": 1_063}),
    "sst2": (("sentence",), 2, {"train": 67_349, "validation": 872, "test": 1_821}),
    "mrpc": (("sentence1", "sentence2"), 2, {"train": 3_668, "validation": 408, "test": 1_725}),
    "stsb": (("sentence1", "sentence2"), 0, {"train": 5_749, "validation": 1_500, "test": 1_379}),
    "qqp": (("question1", "question2"), 2, {"train": 363_846, "validation": 40_430, "test": 390_965}),
    "mnli": (
        ("premise", "hypothesis"),
        3,
        {
            "train": 392_702,
            "validation_matched": 9_815,
            "validation_mismatched": 9_832,
            "test_matched": 9_796,
            "test_mismatched": 9_847,
        },
    ),
    "qnli": (("question", "sentence"), 2, {"train": 104_743, "validation": 5_463, "test": 5_463}),
    "rte": (("sentence1", "sentence2"), 2, {"train": 2_490, "validation": 277, "test": 3_000}),
    "wnli": (("sentence1", "sentence2"), 2, {"train": 635, "validation": 71, "test": 146}),
}


def glue() -> Repository:
    """Known: TASK/SPLIT-00000-of-00001.parquet at this commit, and a card with a config for each task."""
    files: dict[str, File] = {
        "README.md": card({task: {s: f"{task}/{s}-*" for s in splits} for task, (_, _, splits) in GLUE_TASKS.items()})
    }
    for task, (texts, classes, splits) in GLUE_TASKS.items():
        for split, rows in splits.items():
            files |= shards(f"{task}/{split}", Rows(rows, texts, {"label": classes}, ids=("idx",)), 1)
    return at(GLUE, files)


def wikipedia() -> Repository:
    """Known: CONFIG/train-00000-of-00041.parquet at this commit, with id, url, title and text. Fewer files here."""
    columns = Rows(180, ("title", "text"), strings={"id": ("1", "2"), "url": ("https://en.wikipedia.org/wiki/A",)})
    configs = ("20231101.de", "20231101.en", "20231101.tr")
    files = {"README.md": card({config: {"train": f"{config}/train-*"} for config in configs})}
    for config in configs:
        files |= shards(f"{config}/train", columns, 3)
    return at(WIKIPEDIA, files)


def openwebtext() -> Repository:
    """Known: plain_text/train-00000-of-00080.parquet at this commit, with text. Fewer files here."""
    files = {"README.md": card({"plain_text": {"train": "plain_text/train-*"}})}
    return at(OPENWEBTEXT, files | shards("plain_text/train", Rows(150, ("text",)), 5))


def bookcorpus() -> Repository:
    """Assumed: parquet with text under data/, one sentence a row."""
    return at(commit_of("bookcorpus"), shards("data/train", Rows(400, ("text",)), 2))


def atis() -> Repository:
    """Known: atis_train.csv and atis_test.csv with id, intent, text and slots."""
    intents = ("flight", "airfare", "ground_service", "airline", "flight+airfare")
    files = {
        f"atis_{split}.csv": csv(
            f"atis {split}", Rows(rows, ("text",), ids=("id",), strings={"intent": intents, "slots": ("O O B-x",)})
        )
        for split, rows in (("train", 4_978), ("test", 893))
    }
    return at(commit_of("atis"), {"README.md": plain("# Card\n"), **files})


def silicone() -> Repository:
    """Known: a script on main with these columns. Assumed: CONFIG/SPLIT/0000.parquet without a card on the other."""
    names = ("Utterance_ID", "Channel_ID", "Speaker", "Dialogue_ID")
    acts = {"Dialogue_Act": ("s", "b", "d", "f", "q")}
    converted: dict[str, File] = {}
    for config, splits in (
        ("dyda_da", {"train": 30, "validation": 10, "test": 10}),
        ("mrda", {"train": 83_943, "validation": 9_815, "test": 15_470}),
    ):
        for split, rows in splits.items():
            strings = {**{name: ("a", "b", "c") for name in names}, **acts}
            table = Rows(rows, ("Utterance",), {"Label": 5}, ids=("Idx",), strings=strings)
            converted[f"{config}/{split}/0000.parquet"] = parquet(f"{config} {split}", table)
    return by_script("eusip/silicone", converted)


def ag_news() -> Repository:
    """Known: data/train-00000-of-00001.parquet and data/test-... at this commit, with text and label."""
    files = {"README.md": card({"default": {"train": "data/train-*", "test": "data/test-*"}})}
    for split, rows in (("train", 120_000), ("test", 7_600)):
        files |= shards(f"data/{split}", Rows(rows, ("text",), {"label": 4}), 1)
    return at(AG_NEWS, files)


def yahoo_answers() -> Repository:
    """Known: yahoo_answers_topics/train-00000-of-00002.parquet at this commit, and columns. Assumed: the card."""
    name = "yahoo_answers_topics"
    columns = ("question_title", "question_content", "best_answer")
    files = {"README.md": card({name: {"train": f"{name}/train-*", "test": f"{name}/test-*"}})}
    for split, rows, of in (("train", 1_400_000, 2), ("test", 60_000, 1)):
        files |= shards(f"{name}/{split}", Rows(rows, columns, {"topic": 10}, ids=("id",)), of)
    return at(YAHOO_ANSWERS, files)


def trec() -> Repository:
    """Known: a script on main, and these columns. Assumed: default/SPLIT/0000.parquet on the other branch."""
    labels = {"coarse_label": 6, "fine_label": 50}
    files = {
        f"default/{split}/0000.parquet": parquet(f"trec {split}", Rows(rows, ("text",), labels))
        for split, rows in (("train", 5_452), ("test", 500))
    }
    return by_script("CogComp/trec", files)


def sib200() -> Repository:
    """Known: a script on main, a config a language, these columns. Assumed: CONFIG/SPLIT/0000.parquet on the other."""
    topics = {"category": TOPICS}
    files = {
        f"{code}/{split}/0000.parquet": parquet(
            f"{code} {split}", Rows(rows, ("text",), ids=("index_id",), strings=topics)
        )
        for code in LANGUAGES
        for split, rows in (("train", 701), ("validation", 99), ("test", 204))
    }
    return by_script("Davlan/sib200", files)


def wisesight() -> Repository:
    """Known: splits and columns. Assumed: data/SPLIT-00000-of-00001.parquet, and the card."""
    splits = {"train": 21_628, "validation": 2_404, "test": 2_671}
    files = {"README.md": card({"default": {split: f"data/{split}-*" for split in splits}})}
    for split, rows in splits.items():
        files |= shards(f"data/{split}", Rows(rows, ("texts",), {"category": 4}), 1)
    return at(commit_of("wisesight"), files)


def jglue() -> Repository:
    """Known: a script on main, and these columns. Assumed: JSTS/SPLIT/0000.parquet on the other branch."""
    texts, ids = ("sentence1", "sentence2"), {"sentence_pair_id": ("0", "1")}
    files = {
        f"JSTS/{split}/0000.parquet": parquet(f"jsts {split}", Rows(rows, texts, {"label": 0}, strings=ids))
        for split, rows in (("train", 12_451), ("validation", 1_457))
    }
    return by_script("shunk031/JGLUE", files)


def blimp() -> Repository:
    """Known: one table called train with these columns. Assumed: data/train-00000-of-00001.parquet, and the card."""
    strings = {"UID": ("adjunct_island",), "linguistics_term": ("island_effects",), "field": ("syntax",)}
    table = Rows(67_000, ("sentence_good", "sentence_bad"), strings=strings)
    files = {"README.md": card({"default": {"train": "data/train-*"}})}
    return at(commit_of("blimp"), files | shards("data/train", table, 1))


def repositories() -> dict[str, Repository]:
    """All data sets of the stand-in: what hashbench names, and what tests of errors need (test/...)."""
    few = Rows(30, ("text",), {"label": 2})
    return {
        "wikimedia/wikipedia": wikipedia(),
        "rojagtap/bookcorpus": bookcorpus(),
        "Skylion007/openwebtext": openwebtext(),
        "nyu-mll/glue": glue(),
        "tuetschek/atis": atis(),
        "eusip/silicone": silicone(),
        "fancyzhx/ag_news": ag_news(),
        "community-datasets/yahoo_answers_topics": yahoo_answers(),
        "CogComp/trec": trec(),
        "Davlan/sib200": sib200(),
        "pythainlp/wisesight_sentiment": wisesight(),
        "shunk031/JGLUE": jglue(),
        "WillHeld/blimp": blimp(),
        "test/script": by_script("test/script", None),
        "test/partial": by_script("test/partial", {"plain_text/partial-train/0000.parquet": parquet("partial", few)}),
        "test/old-name": Repository({}, {}, moved_to="test/new-name"),
        "test/new-name": at(commit_of("new"), {"train.parquet": parquet("new", few)}),
        "test/gated": at(commit_of("gated"), {"train.parquet": parquet("gated", few)}, gated=True),
        "test/reset": at(commit_of("reset"), {"train.parquet": parquet("reset", few)}),
        "test/half": at(commit_of("half"), {"train.parquet": parquet("half", few)}),
        "test/busy": at(commit_of("busy"), {"train.parquet": parquet("busy", few)}),
        "test/damaged": at(commit_of("damaged"), {"train.parquet": lambda: parquet("damaged", few)()[:1_500]}),
        "test/kept": at(commit_of("kept"), {"train.parquet": parquet("kept", few)}),
    }
