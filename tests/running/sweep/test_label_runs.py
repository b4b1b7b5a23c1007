"""Several labels a text from files to predictions: sweep, report, claims, noise, evaluate, export and predict.

Two sets of the layouts of published ones: a list of numbers with names in a parquet file (GoEmotions), and names joined
in a cell of a CSV file (Reuters).
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score

from hashbench.deployment.loading import load
from hashbench.results.read.measured import measure
from hashbench.scores.base import find_metric
from hashbench.store.engine import open_store
from hashbench.store.status import predictions
from tests.commands import Outcome, call, finish

pytestmark = pytest.mark.e2e

NAMES = ("admiration", "anger", "joy", "sadness", "neutral")
SAYS = {"admiration": "brilliant", "anger": "furious", "joy": "happy", "sadness": "tears", "neutral": "table"}
EXPERIMENT = """\
name: several
data: builtin
encoder: tiny
models:
  - {name: mean, like: hash-emb-k2, objective: none, encoder: &mean {kind: average, dim: 16}}
  - {name: md, like: hashformer-md-emb-1k, objective: none, encoder: *mean}
baseline: md
tasks:
  - {name: emotions, path: emotions, text: text, label: labels, metric: label_f1_micro}
  - {name: topics, path: topics, text: text, label: topics, metric: label_f1_micro, separator: ";"}
seeds: [0, 1]
floors: [majority, bag-of-words, hashed-words]
finetune: {epochs: 12, batch_size: 16, max_length: 16, evaluations_per_epoch: 1, learning_rate: 0.02}
robustness: {perturbations: [swap], rates: [0.2]}
keep_weights: best
claims: claims.csv
threads: 1
"""
CLAIMS = """\
id,paper,section,statement,kind,left,right,column,bound,expected,unit,published_holds,needs,note
above,,,"A mean of words is above the best constant.",greater,mean,majority,emotions,0,,percent,unclear,seeds=2,
equal,,,"Two hashes differ by at most 60 points.",difference_at_least,mean,md,emotions,-60,,percent,unclear,seeds=2,
"""


def rows(n: int, seed: int) -> list[tuple[str, list[int]]]:
    """Texts that say most of their labels, of which they have none to three, the first ones most often."""
    chance = random.Random(seed)
    made = []
    for _ in range(n):
        labels = sorted(
            set(chance.choices(range(len(NAMES)), range(len(NAMES), 0, -1), k=chance.choice((0, 1, 1, 2, 3))))
        )
        words = [
            *(SAYS[NAMES[label]] for label in labels if chance.random() < 0.9),
            *chance.choices(("we", "saw", "the", "town", "again"), k=4),
        ]
        made.append((" ".join(chance.sample(words, len(words))), labels))
    return made


def write_sets(folder: Path) -> None:
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}
    written = {"huggingface": json.dumps({"info": {"features": {"labels": feature}}})}
    for name in ("emotions", "topics"):
        (folder / name).mkdir()
    for split, n, seed in (("train", 240, 0), ("validation", 60, 1), ("test", 60, 2)):
        of_split = rows(n, seed)
        labels = pa.array([of for _, of in of_split], pa.list_(pa.int64()))
        table = pa.table({"text": [text for text, _ in of_split], "labels": labels})
        pq.write_table(table.replace_schema_metadata(written), folder / "emotions" / f"{split}.parquet")
        if split != "validation":  # it is selected on a tenth of train
            with (folder / "topics" / f"{split}.csv").open("w", newline="") as file:
                joined = [(text, "; ".join(NAMES[label] for label in of)) for text, of in of_split]
                csv.writer(file).writerows([("text", "topics"), *joined])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both sets and a finished sweep on them."""
    folder = tmp_path_factory.mktemp("several")
    write_sets(folder)
    (folder / "several.yaml").write_text(EXPERIMENT)
    (folder / "claims.csv").write_text(CLAIMS)
    done = finish("sweep", "several.yaml", cwd=folder)
    assert done.code == 0, done.err
    return folder


def right(outcome: Outcome) -> str:
    assert outcome.code == 0, outcome.err
    return outcome.out


def scores(place: Path, db: str = "results.db") -> dict[tuple[str, str], float]:
    """The printed score of each model by column."""
    printed = right(call("report", "several", "--format", "csv", "--db", db, cwd=place))
    return {
        (row["model"], row["column"]): float(row["value"])
        for row in csv.DictReader(io.StringIO(printed))
        if row["value"]
    }


def test_models_learn_them_and_stored_predictions_have_the_stored_scores(place: Path) -> None:
    found = scores(place)
    for task in ("emotions", "topics"):
        assert found["mean", task] > found["majority", task] > 0
        assert found["hashed-words", task] > found["majority", task]
    store = open_store(str(place / "results.db"), create=False)
    measured, compared = measure(store, "several"), 0
    for entry in measured.entries:
        for task in ("emotions", "topics"):
            for score in measured.own(entry, task):
                stored = predictions(store, score.run.run_id, score.split, "best")
                assert stored is not None and stored.targets.shape == stored.outputs.shape == (60, 5)
                by_sklearn = f1_score(stored.targets, stored.outputs > 0, average="micro", zero_division=0)
                assert score.value == pytest.approx(by_sklearn, abs=1e-12)
                compared += 1
    assert compared == 2 * (2 * 2 + 3)  # two models of two seeds, and trivial baselines, on both sets
    assert call("db", "check", cwd=place).code == 0


def test_the_majority_is_the_best_constant_of_train(place: Path) -> None:
    train, test = (np.array([[label in of for label in range(5)] for _, of in rows(*n)]) for n in ((240, 0), (60, 2)))
    best = find_metric("label_f1_micro").best_constant(train.astype(np.uint8))
    assert best is not None
    expected = f1_score(test, np.tile(best[0], (60, 1)), average="micro")
    assert scores(place)["majority", "emotions"] == pytest.approx(100 * expected, abs=1e-6)


def test_claims_comparisons_and_noise_read_them(place: Path) -> None:
    claims = right(call("report", "claims", "several", cwd=place))
    assert "above" in claims and "holds" in claims
    compared = right(call("compare", "mean", "md", "--format", "json", cwd=place))
    rows_of = {row["task"]: row for row in json.loads(compared)}
    assert all(row["low"] <= row["a-b"] <= row["high"] for row in rows_of.values()) and {*rows_of} >= {
        "emotions",
        "topics",
    }
    assert rows_of["emotions"]["only_a_right"] > 0  # rows with exactly the labels that one side alone predicts
    noise = right(call("report", "robustness", "several", cwd=place))
    assert "mean" in noise and "hashed-words" in noise
    notes = right(call("report", "several", "--provenance", cwd=place))
    assert "of train without a label" in " ".join(notes.split())


def test_an_exported_database_keeps_them_in_the_order_of_their_targets(place: Path) -> None:
    right(call("db", "export", "small.db", "--experiment", "several", cwd=place))
    assert scores(place, "small.db") == scores(place)
    assert call("db", "check", "--db", "small.db", cwd=place).code == 0


def test_the_test_set_has_the_same_score_in_evaluate(place: Path) -> None:
    """Also in the other form: what is joined in the task's files is a list here."""
    on = ("--on", "emotions/test.parquet", "--label", "labels", "--name", "again")
    right(call("evaluate", "--experiment", "several", "--task", "topics", *on, cwd=place))
    found = scores(place)
    for model in ("mean", "md", "majority", "hashed-words"):
        assert found[model, "again"] == pytest.approx(found[model, "topics"], abs=1e-6)


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        ("love", (), "labels that training never saw: 'love'; it saw"),
        ("joy", ("--separator", "|"), ""),
        ("joy|love", ("--separator", "|"), "labels that training never saw: 'love'"),
        ("love", ("--labels", "love=joy"), ""),
    ],
)
def test_wrong_labels_of_another_set_are_one_line(place: Path, cells: str, options: tuple, said: str) -> None:
    (place / "other.csv").write_text(f"text,topics\nhappy we,{cells}\nfurious,anger\n")
    name = ("--name", f"other-{abs(hash((cells, options)))}")
    done = call(
        "evaluate", "--experiment", "several", "--task", "topics", "--on", "other.csv", *options, *name, cwd=place
    )
    assert (done.code, said in done.err) == (2 if said else 0, True), done.err
    assert not said or done.err.count("\n") == 1


def test_a_folder_predicts_the_labels_of_a_text(place: Path) -> None:
    right(call("export", "folder", "--experiment", "several", "--task", "emotions", "--model", "mean", cwd=place))
    texts = ["we saw the happy furious town", "we saw the town again", "the table"]
    model = load(place / "folder")
    answers = model.predict(texts)
    outputs = model.outputs(texts)
    assert answers == [[NAMES[i] for i in np.flatnonzero(row > 0)] for row in outputs]
    assert isinstance(answers, list) and set(answers[0]) == {"anger", "joy"} and answers[1] == []
    assert model.predict(texts[0]) == answers[0]
    shares = model.probabilities(texts)
    assert isinstance(shares, list)
    assert np.array([[*row.values()] for row in shares]) == pytest.approx(1 / (1 + np.exp(-outputs.astype(float))))
    assert right(call("predict", "folder", *texts, cwd=place)).splitlines() == [", ".join(of) for of in answers]
    lines = right(call("predict", "folder", *texts, "--format", "json", cwd=place)).splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == answers
    done = call("evaluate", "folder", "--on", "emotions/test.parquet", "--name", "of-folder", cwd=place)
    assert done.code == 0 and "label_f1_micro" in done.out


def test_trivial_baselines_are_folders_that_give_lists(place: Path) -> None:
    store = open_store(str(place / "results.db"), create=False)
    query = (
        "SELECT id, model FROM run WHERE kind = 'floor' AND task = 'topics' AND seed IS NULL AND model != 'majority'"
    )
    for row in store.query(query):
        folder = place / str(row["model"])
        right(call("export", folder.name, "--run", row["id"], "--evaluate", cwd=place))
        code = folder / f"{folder.name.replace('-', '_')}.py"
        for text, said in (("we saw the happy furious town", "anger, joy"), ("we saw the town", "")):
            done = subprocess.run([sys.executable, "-I", str(code), text], capture_output=True, text=True, check=True)
            assert done.stdout == f"{said}\n"
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    shutil.copyfile(place / "hashed-words" / "hashed_words.js", place / "hashed-words" / "hashed_words.mjs")
    script = (
        'import { readFileSync } from "node:fs"; import { load } from "./hashed_words.mjs";'
        "const hashed = await load((name) => readFileSync(new URL(name, import.meta.url)));"
        'const texts = ["we saw the happy furious town", "we saw the town"];'
        "console.log(JSON.stringify(texts.map((text) => hashed.answer(text))));"
    )
    (place / "hashed-words" / "main.mjs").write_text(script)
    done = subprocess.run([node, "main.mjs"], cwd=place / "hashed-words", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["anger", "joy"], []]


def test_data_describe_gives_the_share_of_rows_with_each_label(place: Path) -> None:
    options = ("--label", "topics", "--metric", "label_f1_micro", "--separator", ";", "--format", "json")
    tables = json.loads(right(call("data", "describe", "topics", *options, cwd=place)))["tables"]
    of_test = [sum(label in of for _, of in rows(60, 2)) for label in range(5)]
    shown = {row["class"]: row["test"] for row in tables["rows with each label (%)"]}
    assert shown == pytest.approx({NAMES[i]: float(f"{100 * n / 60:.3g}") for i, n in enumerate(of_test)})
