"""Names, groups, extra folders, embeddings of the user's own, and what a wrong name says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.models.embeddings.base import Embedding
from hashbench.models.embeddings.hashformer import Projection
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.embeddings.registry import build_embedding, find_model, groups, load_own, models

TOY = """
import torch
from torch import nn
from hashbench.models.embeddings.base import CodeSpec, Embedding, EmbeddingSpec, ModelSpec

class Toy(Embedding):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5 + 256, dim))
    def embed_types(self, codes):
        return self.weight[5 + codes[:, 0].long()]
    def special_rows(self):
        return self.weight[:5]
    def embedding_parameters(self):
        return self.weight.numel()

MODELS = [ModelSpec("{name}", EmbeddingSpec(Toy), code=CodeSpec("md5-bits"), groups=("toys",))]
"""


def toy(folder: Path, file: str, name: str) -> Path:
    path = folder / file
    path.write_text(TOY.format(name=name))
    return path


def test_the_models_of_the_tables_are_named() -> None:
    assert groups()["baselines"] == ["bert-mlm", "bert-sr"]
    forms = ("emb-50k", "emb-1k", "pool", "add", "proj")
    assert groups()["hashformers"] == [f"hashformer-{h}-{form}" for h in ("md", "lsh") for form in forms]
    subwords = [f"hashformer-{h}-{form}-bpe" for h in ("md", "lsh") for form in ("emb-50k", "proj")]
    assert groups()["hashformers-bpe"] == subwords


def test_only_one_baseline_is_trained_by_masking() -> None:
    of_paper = [spec for spec in models().values() if spec.origin.paper == "hashformers"]
    assert [spec.name for spec in of_paper if spec.training.objective == "mlm"] == ["bert-mlm"]


def test_an_unknown_model_names_its_neighbours() -> None:
    with pytest.raises(InputError, match=r"^unknown model 'hashformer-md-prj'; did you mean 'hashformer-md-proj'"):
        find_model("hashformer-md-prj")
    with pytest.raises(InputError, match=r"\(list: hashbench models\)$"):
        find_model("zzz")


def test_a_file_in_the_extra_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(tmp_path, "toy.py", "toy-model")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert find_model("toy-model").embedding.family.__name__ == "Toy"
    assert groups()["toys"] == ["toy-model"]
    assert build_embedding(find_model("toy-model"), 3).embedding_parameters() == 261 * 3


def test_a_double_name_names_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(tmp_path, "mine.py", "bert-mlm")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    with pytest.raises(InputError, match=r"mine\.py: model 'bert-mlm' is already in .*lookup\.py; rename one of them$"):
        models()


@pytest.mark.parametrize(("models_of_file", "cls"), [("'mine'", "str"), ("[1]", "int")])
def test_a_family_file_with_other_models(
    models_of_file: str, cls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.py").write_text(f"MODELS = {models_of_file}\n")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert "bert-mlm" in models()
    reason = f"{tmp_path / 'other.py'}: MODELS: of the class {cls}, no ModelSpec; see docs/extend.md"
    assert capsys.readouterr().err == f"{reason}; it is left out\n"


def test_an_own_class_is_loaded_from_file_and_module(tmp_path: Path) -> None:
    path = toy(tmp_path, "toy.py", "toy-model")
    own = load_own(f"{path}:Toy")
    assert issubclass(own, Embedding) and own is load_own(f"{path}:Toy")
    assert load_own("hashbench.models.embeddings.lookup:Table") is LookupTable


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = toy(tmp_path, "toy.py", "toy-model")
    before = load_own(f"{path}:Toy")
    path.write_text(path.read_text() + "\nToy.changed = True\n")
    assert hasattr(load_own(f"{path}:Toy"), "changed") and not hasattr(before, "changed")


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("{folder}/missing.py:Toy", r"missing\.py: no such file; "),
        ("{folder}/toy.py", r"toy\.py': no embedding; write FILE\.py:Class or package\.module:Class$"),
        ("{folder}/toy.py:Toi", r"toy\.py: no embedding class 'Toi'; did you mean 'Toy'\?; derive it from "),
        ("{folder}/toy.py:nn", r"toy\.py: no embedding class 'nn'; derive it from "),
        (
            "{folder}/broken.py:Toy",
            r"broken\.py: cannot be imported: ZeroDivisionError: division by zero; correct the file$",
        ),
        (
            "no_such_package.thing:Toy",
            r"^no_such_package\.thing: cannot be imported: No module named 'no_such_package'; ",
        ),
    ],
)
def test_wrong_references(tmp_path: Path, reference: str, text: str) -> None:
    toy(tmp_path, "toy.py", "toy-model")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=text):
        load_own(reference.format(folder=tmp_path))


def test_buckets_of_the_coder_decide_the_rows() -> None:
    spec = find_model("hashformer-md-emb-50k").with_args(code={"num_buckets": 100})
    assert build_embedding(spec, 2).embedding_parameters() == (100 + 5) * 2
    first = spec.with_args(code={"first_row": 8})
    assert build_embedding(first, 2).embedding_parameters() == (100 + 8) * 2


def test_a_class_may_say_itself_what_follows_from_its_coder() -> None:
    class Doubled(LookupTable):
        @classmethod
        def following(cls, code: Mapping[str, Any]) -> dict[str, Any]:
            return {"num_rows": 2 * code["num_buckets"]}

    spec = find_model("hashformer-md-emb-50k").with_args(code={"num_buckets": 100})
    spec = replace(spec, embedding=replace(spec.embedding, family=Doubled))
    assert build_embedding(spec, 2).embedding_parameters() == 200 * 2


def test_bits_of_the_coder_decide_the_length() -> None:
    spec = find_model("hashformer-lsh-proj").with_args(code={"bits": 256})
    embedding = build_embedding(spec, 2)
    assert isinstance(embedding, Projection) and embedding.weight.shape == (2, 256)


def test_a_vocabulary_of_the_data_decides_the_rows() -> None:
    assert build_embedding(find_model("bert-mlm"), 2, vocabulary_rows=77).embedding_parameters() == 77 * 2


def test_an_unknown_argument_of_an_embedding() -> None:
    spec = find_model("hashformer-md-proj").with_args(embedding={"proj_epz": 1.0})
    with pytest.raises(
        InputError, match=r"no argument 'proj_epz'; did you mean 'proj_eps'\?; arguments: bits, generic_row, "
    ):
        build_embedding(spec, 2)


@pytest.mark.parametrize(
    ("name", "listed"),
    [("ternary-dense", "bottleneck"), ("hash-emb-k2", "factors, signs, init"), ("tfree-1k", "signs")],
)
def test_arguments_that_follow_from_the_coder_are_not_offered(name: str, listed: str) -> None:
    spec = find_model(name)
    with pytest.raises(InputError, match=r"embedding has no argument 'xyz'; arguments: ") as error:
        build_embedding(spec.with_args(embedding={"xyz": 1.0}), 128)
    offered = str(error.value).rpartition("arguments: ")[2]
    assert offered == listed and not set(offered.split(", ")) & {"hashing", *spec.code.args}
