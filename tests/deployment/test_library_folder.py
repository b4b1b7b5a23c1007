"""Folders as transformers and sentence-transformers load them, in a process where hashbench cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hashbench
from hashbench.deployment.library_folder import MODELING, OTHER_TASK, TOKENIZATION, write_library_files
from hashbench.deployment.onnx_graph import GraphFile, outputs_of, write_graph
from hashbench.models.embeddings.registry import find_model
from tests.exported import exported_folder

pytest.importorskip("transformers", reason="transformers is not installed")
TEXTS = ["a film", "Don't STOP!!! 東京 naïve", "x"]
QUICK = ["hashformer-md-proj", "eelbert-tiny", "pqrnn-tiny"]
OTHERS = [
    "bert-mlm",
    "proformer-k4",
    "hashformer-md-pool",
    "canine-c-scratch",
    "sgnn",
    "bigram-hash-emb",
    "dhe-small",
    "prado",
]
BLOCKED = """
import json, sys
sys.modules["hashbench"] = None
folder, texts = sys.argv[1], json.loads(sys.argv[2])
"""
LOGITS = (
    BLOCKED
    + """
import copy, torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
def loaded(**options):
    return AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True, **options).eval()
model, inputs = loaded(), tokenizer(texts, return_tensors="pt")
answers = [model(**inputs), model(**tokenizer.pad([tokenizer(text) for text in texts], return_tensors="pt"))]
for kind in (torch.float16, torch.bfloat16):
    answers += [copy.deepcopy(model).to(kind)(**inputs), loaded(dtype=kind)(**inputs)]
print(json.dumps([answer.logits.tolist() for answer in answers]))
"""
)
SENTENCES = (
    BLOCKED
    + """
import torch
from sentence_transformers import SentenceTransformer
def loaded(**options):
    return SentenceTransformer(folder, trust_remote_code=True, device="cpu", **options)
model = loaded()
whole = model.encode(texts)
model.max_seq_length = 4
cut = model.encode(texts)
try:
    model.max_seq_length = 2
except ValueError as error:
    assert str(error) == "max_seq_length: 2: this model reads 3 to 64 tokens", error
model.save(folder + "-saved")
again = SentenceTransformer(folder + "-saved", trust_remote_code=True, device="cpu")
assert again.max_seq_length == 4, again.max_seq_length
short = loaded(processor_kwargs={"model_max_length": 4}).encode(texts)
half = loaded().half().encode(texts)
narrow = loaded(model_kwargs={"dtype": torch.bfloat16}).encode(texts, convert_to_tensor=True)
assert narrow.dtype == torch.bfloat16, narrow.dtype
print(json.dumps([each.tolist() for each in (whole, cut, short, half.astype("float32"), narrow.float())]))
"""
)
CALLS = (
    BLOCKED
    + """
import copy, pickle
import numpy as np
from transformers import AutoTokenizer, pipeline, AutoModelForSequenceClassification, DataCollatorWithPadding
tok = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
eight = "one two three four five six seven eight"
made = lambda *given, **options: tok(*given, **options)["positions"]
def refused(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return "accepted"
found = {
    "cut": made(eight, truncation=True, max_length=4), "cut without truncation": made(eight, max_length=4),
    "longer than the model": len(made("a " * 99, truncation=True, max_length=500)[0]),
    "words": made(["a", "b", "c"], is_split_into_words=True),
    "words of two": made([["a", "b"], ["c d"]], is_split_into_words=True),
    "bare": made("a b", add_special_tokens=False), "filled": made("a", padding="max_length", max_length=6),
    "multiple": made("a", pad_to_multiple_of=8), "pair": made("a b", "c d e", truncation=True, max_length=6),
    "kinds": [type(each).__name__ for each in tok("a", return_tensors="np").values()],
    "none": [list(each.shape) for each in tok([], return_tensors="pt").values()],
    "mask": "attention_mask" in tok("a", return_attention_mask=False),
    "length": len(tok), "pad": tok.pad_token_id, "tokens": tok.tokenize("A <pad> b"),
    "pickled": all(other("A b") == tok("A b") for other in (pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok))),
    "allowed": made("a", truncation=False, return_overflowing_tokens=False, verbose=True),
}
found["refused"] = [refused(call) for call in (
    lambda: tok("a " * 99, truncation=False), lambda: tok("a", "b", truncation="only_second"),
    lambda: tok("a", max_length=0), lambda: tok("a", "b", max_length=3), lambda: tok("a", return_tensors="tf"),
    lambda: tok("a", return_offsets_mapping=True), lambda: tok("a", max_len=3), lambda: tok("a", padding="most"),
    lambda: tok("a b", is_split_into_words=True), lambda: tok.encode("a"), lambda: tok.decode([5]),
    lambda: tok.convert_tokens_to_ids("a"), lambda: setattr(tok, "padding_side", "left"),
    lambda: AutoTokenizer.from_pretrained(folder, trust_remote_code=True, truncation_side="left"),
)]
model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
asked = [*texts, "", eight]
pipes = [pipeline("text-classification", model=model, tokenizer=tok, batch_size=n, top_k=None) for n in (1, 4)]
alone, four = (each(asked) for each in pipes)
score = lambda rows: np.array([[each["score"] for each in sorted(row, key=lambda each: each["label"])] for row in rows])
found["pipeline"] = float(abs(score(alone) - score(four)).max())
batch = DataCollatorWithPadding(tok)([{**tok(text), "label": i % 2} for i, text in enumerate(asked)])
joined = tok.pad([tok(asked[:2]), tok(asked[2:])], return_tensors="pt")
found["labels"], answer = batch["labels"].tolist(), model(**batch)
found["loss"] = float(answer.loss)
found["collated"] = float((answer.logits - model(**tok(asked, return_tensors="pt")).logits).abs().max())
found["joined"] = float((answer.logits - model(**joined).logits).abs().max())
print(json.dumps(found))
"""
)


def asked(script: str, folder: Path, home: Path) -> Any:
    """What a script of its own process prints last, as JSON."""
    variables = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", script, str(folder), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def assert_logits(answers: list, expected: np.ndarray) -> None:
    """Answers of LOGITS: in float32 of a batch and of joined texts, in float16, in bfloat16, which has 8 bits."""
    for answer, share in zip(answers, (1e-4, 1e-4, 0.02, 0.02, 0.1, 0.1), strict=True):
        np.testing.assert_allclose(answer, expected, atol=share * np.abs(expected).max())


@pytest.mark.parametrize("model", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_automodel_gives_the_same_logits(tmp_path: Path, model: str) -> None:
    folder = exported_folder(model, tmp_path / "some_model", small=True)
    expected = hashbench.load(folder).outputs(TEXTS)
    write_library_files(hashbench.load(folder), folder)
    np.testing.assert_allclose(hashbench.load(folder).outputs(TEXTS), expected)  # it is still a folder of hashbench
    assert_logits(asked(LOGITS, folder, tmp_path / "hub"), expected)
    for name in (MODELING, TOKENIZATION):
        lines = (folder / name).read_text().splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("from hashbench", "import hashbench"))]
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".pt", ".pkl", ".ckpt")]


def test_several_labels_of_a_text_have_their_own_loss_and_problem_type(tmp_path: Path) -> None:
    folder = exported_folder("hashformer-md-proj", tmp_path / "some_model", small=True, multi_label=True)
    predictor = hashbench.load(folder)
    write_library_files(predictor, folder)
    script = BLOCKED + (
        "import torch\n"
        "from transformers import AutoModelForSequenceClassification, AutoTokenizer\n"
        "options = {'trust_remote_code': True}\n"
        "tokenizer = AutoTokenizer.from_pretrained(folder, **options)\n"
        "model = AutoModelForSequenceClassification.from_pretrained(folder, **options).eval()\n"
        "labels = torch.tensor([[1, 0], [1, 1], [0, 0]])\n"
        "answer = model(**tokenizer(texts, return_tensors='pt'), labels=labels)\n"
        "print(json.dumps([answer.loss.item(), model.config.problem_type]))\n"
    )
    loss, problem = asked(script, folder, tmp_path / "hub")
    shares = 1 / (1 + np.exp(-predictor.outputs(TEXTS).astype(float)))
    labels = np.array([[1, 0], [1, 1], [0, 0]])
    assert loss == pytest.approx(-np.log(np.where(labels == 1, shares, 1 - shares)).mean(), abs=1e-4)
    assert problem == "multi_label_classification"


NEW_HEADS = (
    BLOCKED
    + """
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
options, found = {"trust_remote_code": True, "ignore_mismatched_sizes": True}, {}
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
names = {
    "three": {"id2label": {0: "a", 1: "b", 2: "c"}, "label2id": {"a": 0, "b": 1, "c": 2}}, "value": {"num_labels": 1},
    "several": {"num_labels": 3, "problem_type": "multi_label_classification"},
}
labels = {"three": [0, 1, 2], "value": [0.5, 1.0, 2.0], "several": [[1.0, 0.0, 1.0]] * 3}
for name, wanted in names.items():
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(folder, **wanted, **options).eval()
    answer = model(**tokenizer(texts, return_tensors="pt"), labels=torch.tensor(labels[name]))
    parts = [model.head.out, *([] if model.head.dense is None else [model.head.dense])]
    weights = [float(part.weight.detach().std()) for part in parts]
    found[name] = [weights, answer.logits.tolist(), answer.loss.item(), model.head.dropout.probability]
    model.save_pretrained(f"{folder}-{name}")
    tokenizer.save_pretrained(f"{folder}-{name}")
for n_labels, problem in ((1, "multi_label_classification"), (3, "regression")):
    try:
        AutoModelForSequenceClassification.from_pretrained(folder, num_labels=n_labels, problem_type=problem, **options)
        found[problem] = "accepted"
    except ValueError as error:
        found[problem] = str(error)
print(json.dumps(found))
"""
)


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_a_head_that_the_folder_lacks_is_drawn_and_saved_for_hashbench(tmp_path: Path, n_outputs: int | None) -> None:
    """Of a pre-trained model, and of one that was fine-tuned on other labels; the loss is that of the new labels."""
    folder = exported_folder("hashformer-md-proj", tmp_path / "some_model", small=True, n_outputs=n_outputs)
    write_library_files(hashbench.load(folder), folder)
    found = asked(NEW_HEADS, folder, tmp_path / "hub")
    for name, labels in (("three", ("a", "b", "c")), ("value", ("0",)), ("several", ("LABEL_0", "LABEL_1", "LABEL_2"))):
        spreads, logits, loss, dropout = found[name]
        assert spreads[0] == pytest.approx(0.0176, rel=0.4)  # of the suite's truncated normal
        read = hashbench.load(folder.with_name(f"some_model-{name}"))
        assert read.labels == labels and read.config.multi_label == (name == "several")
        assert (read.config.task, read.config.max_length) == (OTHER_TASK, hashbench.load(folder).config.max_length)
        outputs = read.outputs(TEXTS).astype(float)
        np.testing.assert_allclose(logits, outputs, atol=1e-5)
        losses = {
            "three": lambda outputs: (np.log(np.exp(outputs).sum(1)) - np.diag(outputs)).mean(),
            "value": lambda outputs: ((outputs[:, 0] - [0.5, 1.0, 2.0]) ** 2).mean(),
            "several": lambda outputs: -np.log(1 / (1 + np.exp(-outputs * [1, -1, 1]))).mean(),
        }
        assert loss == pytest.approx(losses[name](outputs), abs=1e-4)
        assert dropout == read.model.encoder.config.dropout  # as in a fine-tuning by hashbench
    assert found["multi_label_classification"] == "problem_type 'multi_label_classification': num_labels is 1"
    assert found["regression"] == "problem_type 'regression': num_labels is 3"


def test_a_factor_of_word_vectors_is_part_of_the_folder(tmp_path: Path) -> None:
    """Of a model that began with `initial_spread`; here too hashbench, transformers and ONNX agree."""
    spec = replace(find_model("hashformer-md-proj"), initial_spread="matched")
    folder = exported_folder(spec.name, tmp_path / "some_model", small=True, spec=spec)
    predictor = hashbench.load(folder)
    assert predictor.model.scales is not None and predictor.model.scales.tolist() == pytest.approx([1.0, 0.2])
    assert predictor.spec.initial_spread == "matched"
    expected = predictor.outputs(TEXTS)
    predictor.model.scales.fill_(1.0)
    assert np.abs(predictor.outputs(TEXTS) - expected).max() > 1e-3
    write_library_files(hashbench.load(folder), folder)
    assert_logits(asked(LOGITS, folder, tmp_path / "hub"), expected)
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    write_graph(hashbench.load(folder), tmp_path / "model.onnx")
    graph = GraphFile.open(tmp_path / "model.onnx")
    np.testing.assert_allclose(outputs_of(graph, hashbench.load(folder), [TEXTS]), expected, atol=1e-4)


def test_sentence_transformers_gives_the_pooled_states(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    folder = exported_folder("hashformer-md-proj", tmp_path / "some_model", small=True, n_outputs=None, pooling="mean")
    expected = hashbench.load(folder).embed(TEXTS)
    write_library_files(hashbench.load(folder), folder)
    whole, cut, short, *narrow = np.array(asked(SENTENCES, folder, tmp_path / "hub"))
    np.testing.assert_allclose(whole, expected, atol=1e-5)
    for answer, share in zip(narrow, (0.02, 0.1), strict=True):  # float16, then bfloat16 with its 8 bits
        np.testing.assert_allclose(answer, expected, atol=share * np.abs(expected).max())
    firsts = [" ".join(text.split()[:2]).replace("Don't STOP!!!", "Don'") for text in TEXTS]
    np.testing.assert_allclose(cut, hashbench.load(folder).embed(firsts), atol=1e-5)
    np.testing.assert_allclose(short, cut, atol=1e-6)


def test_attention_pooling_has_no_files_for_sentence_transformers_and_a_line_says_so(tmp_path: Path) -> None:
    folder = exported_folder("pqrnn-tiny", tmp_path / "some_model", small=True)
    (refused,) = write_library_files(hashbench.load(folder), folder)
    assert refused == (f"{folder}: not for sentence-transformers, whose poolings learn nothing (pooling: attention)")
    assert not (folder / "modules.json").exists() and (folder / MODELING).exists()


NO_NUMBERS = "tokens of this model have no numbers; call the tokenizer, which gives codes and positions"


def test_the_tokenizer_follows_arguments_or_refuses_them_by_name(tmp_path: Path) -> None:
    folder = exported_folder("hashformer-md-proj", tmp_path / "some_model", small=True)
    write_library_files(hashbench.load(folder), folder)
    found = asked(CALLS, folder, tmp_path / "hub")
    refused = found.pop("refused")
    differences = [found.pop(name) for name in ("pipeline", "collated", "joined")]
    assert max(differences) < 1e-6 and found.pop("loss") > 0
    assert found == {
        "cut": [[0, 5, 6, 2]], "cut without truncation": [[0, 5, 6, 2]], "longer than the model": 64,
        "words": [[0, 5, 6, 7, 2]], "words of two": [[0, 5, 6, 2], [0, 7, 8, 2]], "bare": [[5, 6]],
        "filled": [[0, 5, 2, 1, 1, 1]], "multiple": [[0, 5, 2, 1, 1, 1, 1, 1]], "pair": [[0, 5, 2, 2, 6, 2]],
        "kinds": ["ndarray"] * 4, "none": [[1, 128], [0, 3], [0, 1], [0, 3]], "mask": False, "length": 5, "pad": 1,
        "tokens": ["a", "<", "pad", ">", "b"], "pickled": True, "allowed": [[0, 5, 2]], "labels": [0, 1, 0, 1, 0],
    }  # fmt: skip
    assert refused == [
        "truncation: False: an input has 101 tokens, more than the 64 that are read",
        "truncation: 'only_second': this tokenizer cuts as in its training; give True, False or max_length",
        "max_length: 0: this model reads 3 to 64 tokens",
        "max_length: 3: this model reads 5 to 64 tokens",
        "return_tensors: 'tf': this tokenizer gives pt, np or lists",
        "return_offsets_mapping: True: this tokenizer does not know it; leave it out",
        "max_len: 3: this tokenizer does not know it; leave it out",
        "padding: 'most': give longest or max_length",
        "is_split_into_words: True: give lists of words",
        NO_NUMBERS, NO_NUMBERS, NO_NUMBERS,
        "padding_side: 'left': this tokenizer fills up and cuts on the right",
        "truncation_side: 'left': this tokenizer fills up and cuts on the right",
    ]  # fmt: skip
