"""Exported models in other people's programs: read from the hub, fine-tuned by the Trainer, evaluated by mteb.

The programs run in processes that have no hashbench; their scores are those of hashbench on the same folder and rows.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import hashbench
from tests.hub.client import ROOT, StandIn

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("models elsewhere")]
pytest.importorskip("transformers", reason="transformers is not installed")
FAMILIES = {"rows": "hash-emb-k2-sum", "projected": "hashformer-md-proj", "n-grams": "byte-ngrams"}
EXPERIMENT = """
name: elsewhere
data: builtin
encoder: tiny
models: [MODELS]
tasks: [{name: films, path: films, text: text, label: label}]
seeds: [0]
floors: []
efficiency: false
keep_weights: best
finetune: {epochs: 2, batch_size: 32, learning_rate: 1.0e-3, max_length: 32}
"""
BLOCKED = "import json, os, sys\nsys.modules['hashbench'] = None\nimport numpy as np\nfolders = sys.argv[1:]\n"
TRAINER = (
    BLOCKED
    + """
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
csv = load_dataset("csv", data_files={split: f"films/{split}.csv" for split in ("train", "test")})
found = {}
for folder in folders:
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)
    rows = csv.map(
        lambda row: {**tokenizer(row["text"]), "labels": model.config.label2id[row["label"]]},
        remove_columns=["text", "label"],
    )
    options = {"num_train_epochs": 1, "per_device_train_batch_size": 32, "learning_rate": 1e-3, "use_cpu": True}
    quiet = {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no"}
    trainer = Trainer(
        model, TrainingArguments(f"{folder}-run", **options, **quiet), train_dataset=rows["train"],
        eval_dataset=rows["test"], processing_class=tokenizer,
        compute_metrics=lambda told: {"accuracy": float((told.predictions.argmax(1) == told.label_ids).mean())},
    )
    before = trainer.evaluate()["eval_accuracy"]
    trainer.train()
    after = trainer.evaluate()["eval_accuracy"]
    trainer.save_model(f"{folder}-trained")
    found[folder] = [before, after, trainer.predict(rows["test"]).predictions.tolist()]
print(json.dumps(found))
"""
)
MTEB = (
    BLOCKED
    + """
import mteb
import pandas as pd
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskClassification, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer

def described(name, kind, score):
    unknown = ("date", "domains", "task_subtypes", "license", "annotations_creators", "dialect", "sample_creation",
               "bibtex_citation", "reference")
    return TaskMetadata(
        name=name, description=name, type=kind, category="t2c" if kind == "Classification" else "t2t",
        modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score=score,
        dataset={"path": f"local/{name}", "revision": "1"}, **dict.fromkeys(unknown),
    )

class Films(AbsTaskClassification):
    metadata = described("Films", "Classification", "accuracy")

    def load_data(self, **options):
        tables = {split: pd.read_csv(f"films/{split}.csv") for split in ("train", "test")}
        numbered = {split: table.assign(label=(table.label == "good").astype(int)) for split, table in tables.items()}
        self.dataset = DatasetDict({split: Dataset.from_pandas(table) for split, table in numbered.items()})
        self.data_loaded = True

class Pairs(AbsTaskSTS):
    metadata = described("Pairs", "STS", "cosine_spearman")
    min_score, max_score = 0, 1

    def load_data(self, **options):
        self.dataset = DatasetDict({"test": Dataset.from_pandas(pd.read_csv("pairs.csv"))})
        self.data_loaded = True

class Given(SentenceTransformer):
    \"\"\"The vectors that hashbench has for these texts.\"\"\"

    def encode(self, sentences, **options):
        return np.array([self.given[text] for text in sentences])

def scores(model):
    results = mteb.evaluate(model, [Films(), Pairs()], cache=None, show_progress_bar=False).task_results
    return {result.task_name: result.get_score() for result in results}

found = {}
for folder in folders:
    model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
    given = Given(folder, trust_remote_code=True, device="cpu")
    given.given = json.load(open(f"{folder}.json"))
    found[folder] = [scores(model), scores(given)]
print(json.dumps(found))
"""
)
PIPELINE = (
    BLOCKED
    + """
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, pipeline
name, texts = folders[0], json.load(open("texts.json"))
options = {"trust_remote_code": True}
told = pipeline("text-classification", model=name, device="cpu", **options)(texts, top_k=None)
inner, tokenizer = AutoModel.from_pretrained(name, **options), AutoTokenizer.from_pretrained(name, **options)
whole = AutoModelForSequenceClassification.from_pretrained(name, **options)
inputs = tokenizer(texts, return_tensors="pt")
states = inner(**inputs).last_hidden_state
print(json.dumps([
    [{each["label"]: each["score"] for each in row} for row in told], states[:, 0].tolist(),
    whole(**inputs).logits.tolist(),
]))
"""
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, and in it a fine-tuned model of each family, exported for transformers."""
    place = tmp_path_factory.mktemp("elsewhere")
    write_texts(place)
    models = ", ".join(f"{{name: {name}, like: {like}, objective: none}}" for name, like in FAMILIES.items())
    (place / "elsewhere.yaml").write_text(EXPERIMENT.replace("MODELS", models))
    run(place, "-m", "hashbench", "sweep", "elsewhere.yaml", "--db", "some.db")
    for name in FAMILIES:
        chosen = ("--experiment", "elsewhere", "--task", "films", "--model", name, "--db", "some.db")
        run(place, "-m", "hashbench", "export", name, *chosen, "--transformers")
    return place


def write_texts(place: Path) -> None:
    """films/: texts with words of two kinds, two in three of their label's; pairs.csv: pairs that share words."""
    draw = random.Random(0)
    words = {"good": "good great lovely bright warm fine".split(), "bad": "bad dull awful cold grim poor".split()}
    rest = "the film story scene actor of a and in was it plot music long short evening".split()

    def text(label: str) -> str:
        other = "bad" if label == "good" else "good"
        chosen = [draw.choice(words[label if draw.random() < 0.67 else other]) for _ in range(2)]
        mixed = [draw.choice(rest) for _ in range(draw.randint(4, 12))] + chosen
        draw.shuffle(mixed)
        return " ".join(mixed)

    (place / "films").mkdir()
    for split, rows in (("train", 480), ("validation", 100), ("test", 300)):
        labels = [draw.choice(("good", "bad")) for _ in range(rows)]
        write_rows(place / "films" / f"{split}.csv", ("text", "label"), [(text(label), label) for label in labels])
    pairs = []
    for _ in range(100):
        first = text("good").split()
        second = [word if draw.random() < 0.5 else draw.choice(rest) for word in first]
        shared = sum(a == b for a, b in zip(first, second, strict=True)) / len(first)
        pairs.append((" ".join(first), " ".join(second), shared))
    write_rows(place / "pairs.csv", ("sentence1", "sentence2", "score"), pairs)


def write_rows(path: Path, names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def column(path: Path, name: str) -> list[str]:
    with path.open(newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def run(place: Path, *arguments: str) -> str:
    """What a process of Python prints, with caches in `place` and no hub."""
    own = {"HF_HOME": str(place / "home"), "HASHBENCH_CACHE": str(place / "cache"), "HF_HUB_OFFLINE": "1"}
    own |= {"PYTHONPATH": str(ROOT), "MTEB_CACHE": str(place / "mteb")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, env=os.environ | own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def accuracy(folder: Path) -> float:
    """Of hashbench, of an exported folder on the rows of films/test.csv."""
    test = folder.parent / "films" / "test.csv"
    predicted = hashbench.load(folder).predict(column(test, "text"))
    return float(np.mean(np.array(predicted) == column(test, "label")))


def test_the_trainer_fine_tunes_them_and_hashbench_reads_what_it_saves(place: Path) -> None:
    before = {name: accuracy(place / name) for name in FAMILIES}
    found = json.loads(run(place, "-c", TRAINER, *FAMILIES).splitlines()[-1])
    for name, (told_before, told_after, logits) in found.items():
        trained = place / f"{name}-trained"
        outputs = hashbench.load(trained).outputs(column(place / "films" / "test.csv", "text"))
        np.testing.assert_allclose(outputs, logits, atol=1e-3 * np.abs(outputs).max())
        assert told_before == pytest.approx(before[name], abs=0.005)  # a text on the border may go over
        assert told_after == pytest.approx(accuracy(trained), abs=0.005)
        first = hashbench.load(place / name).outputs(["a dull film"])
        assert np.abs(hashbench.load(trained).outputs(["a dull film"]) - first).max() > 0.01  # it learned something
    chosen = ("--on", "films/test.csv", "--text", "text", "--label", "label", "--db", "of_trained.db")
    line = run(place, "-m", "hashbench", "evaluate", "rows-trained", *chosen)
    told = re.search(r"accuracy ([\d.]+)", line)
    assert told is not None and float(told[1]) == pytest.approx(100 * found["rows"][1], abs=0.5)


def test_mteb_scores_them_as_the_vectors_of_hashbench(place: Path) -> None:
    pytest.importorskip("mteb", reason="mteb is not installed")
    test, pairs, expected = place / "films" / "test.csv", place / "pairs.csv", {}
    for name in FAMILIES:
        predictor = hashbench.load(place / name)
        texts = [*column(place / "films" / "train.csv", "text"), *column(test, "text")]
        columns = [column(pairs, side) for side in ("sentence1", "sentence2")]
        texts = list(dict.fromkeys([*texts, *columns[0], *columns[1]]))
        vectors = predictor.embed(texts)
        (place / f"{name}.json").write_text(json.dumps(dict(zip(texts, vectors.tolist(), strict=True))))
        first, second = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in map(predictor.embed, columns))
        expected[name] = spearmanr((first * second).sum(1), [float(s) for s in column(pairs, "score")]).statistic
    found = json.loads(run(place, "-c", MTEB, *FAMILIES).splitlines()[-1])
    for name, (by_folder, by_vectors) in found.items():
        assert by_folder["Pairs"] == pytest.approx(expected[name], abs=1e-3)
        assert by_folder["Films"] == pytest.approx(by_vectors["Films"], abs=0.005)  # a text on the border may go over
        assert 0.5 < by_folder["Films"] <= 1


def test_a_pipeline_reads_what_was_uploaded(place: Path, hub: StandIn) -> None:
    """By name alone, weights, code and text side; labels, probabilities, states and logits are hashbench's."""
    texts = [*column(place / "films" / "test.csv", "text")[:30], "Don't STOP!!! 東京 naïve"]
    for name in FAMILIES:
        (hub.folder / "texts.json").write_text(json.dumps(texts))
        upload = "from hashbench.deployment.writing import push\nfrom pathlib import Path\nimport json\n"
        line = hub.python(
            f"{upload}print(json.dumps(push(Path({str(place / name)!r}), 'me/{name}')))", HF_TOKEN="right"
        )
        commit = re.search(r"commit (\w+)$", line)
        told, states, logits = hub.python(PIPELINE.replace("folders[0]", repr(f"me/{name}")))
        predictor = hashbench.load(place / name)
        for row, expected in zip(told, predictor.probabilities(texts), strict=True):
            assert row == pytest.approx(expected, abs=1e-4)
        np.testing.assert_allclose(states, predictor.embed(texts), atol=1e-4)  # of the first token, its pooling
        np.testing.assert_allclose(logits, predictor.outputs(texts), atol=1e-4)
        (read,) = (hub.folder / "home" / "hub" / f"models--me--{name}" / "snapshots").iterdir()
        assert commit is not None and read.name.startswith(commit[1])


UPLOAD = """
import json, pathlib
from hashbench.common.errors import InputError
from hashbench.deployment.writing import push
try:
    print(json.dumps(push(pathlib.Path("out"), "me/small")))
except InputError as error:
    print(json.dumps(str(error)))
"""


def test_all_files_of_a_folder_arrive(hub: StandIn) -> None:
    contents = {"README.md": b"# a card\n", "onnx/model.onnx": b"\0\1graph", "config.json": b"{}"}
    (hub.folder / "out" / "onnx").mkdir(parents=True)
    for name, content in contents.items():
        (hub.folder / "out" / name).write_bytes(content)
    assert re.search(r"me/small: commit \w{8}$", hub.python(UPLOAD, HF_TOKEN="right"))
    download = (
        "from huggingface_hub import snapshot_download\nimport json\nprint(json.dumps(snapshot_download('me/small')))"
    )
    there = Path(hub.python(download))
    assert {str(path.relative_to(there)): path.read_bytes() for path in there.rglob("*") if path.is_file()} == contents


def test_a_refusal_and_a_hub_out_of_reach_are_one_line(hub: StandIn) -> None:
    (hub.folder / "out").mkdir()
    (hub.folder / "out" / "a").write_text("a")
    refused = hub.python(UPLOAD, HF_TOKEN="wrong")
    assert re.fullmatch("--push-to-hub me/small: not uploaded .*; log in with hf auth login or set HF_TOKEN.*", refused)
    away = hub.python(UPLOAD, HF_TOKEN="right", HF_ENDPOINT="http://127.0.0.1:9")
    assert re.fullmatch("--push-to-hub me/small: not uploaded .*and check the name and the network", away)
