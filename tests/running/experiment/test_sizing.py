"""Equal budgets: the free size of each embedding, in experiments and by themselves."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.common.showing import BUDGET_TOLERANCE
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.sizing import (
    _is_number,
    check_learned_rows,
    embedding_size,
    parameters_of,
    with_budget,
    with_free_size,
)

TINY, BASE = (230_000, 6_400_000), (1_400_000, 38_600_000)  # the smallest and the largest of the experiments
FREE = [name for name, spec in models().items() if spec.free_size is not None]


# A number more a piece of 50,265 is more than 2 % of the smallest budget.
MISSED = {("low-rank-bpe", 128, 230_000): "201,572 (rank 4) or 251,965 (rank 5)"}


@pytest.mark.parametrize(("dim", "budget"), [(128, each) for each in TINY] + [(768, each) for each in BASE])
@pytest.mark.parametrize("name", FREE)
def test_every_free_size_comes_near_every_budget(name: str, dim: int, budget: int) -> None:
    if (name, dim, budget) in MISSED:
        with pytest.raises(InputError, match=re.escape(MISSED[name, dim, budget])):
            with_budget(find_model(name), dim, budget)
        return
    sized = with_budget(find_model(name), dim, budget)
    assert abs(sized.parameters - budget) <= BUDGET_TOLERANCE * budget
    assert embedding_size(sized.spec, dim) == sized.parameters


def test_the_nearest_size_is_taken() -> None:
    assert with_budget(find_model("hash-emb-k2-sum"), 128, 128_000 + 640 + 63).size == 1_000
    assert with_budget(find_model("hash-emb-k2-sum"), 128, 128_000 + 640 + 65).size == 1_001


def test_a_budget_out_of_reach_is_one_line_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"hash-emb-k2: .* 2 % of 50,000 .* nearest has 100,768 \(num_buckets 1\)$"):
        with_budget(find_model("hash-emb-k2"), 128, 50_000)
    with pytest.raises(InputError, match=r"md-proj: its embedding has one size \(17,152 parameters\)"):
        with_budget(find_model("hashformer-md-proj"), 128, 50_000)


def test_an_experiments_budget_sets_what_is_free(experiment) -> None:
    loaded = experiment("budget: {embedding_parameters: 230_000}\nmodels: [hash-emb-k2, bert-sr, hashformer-md-proj]")
    resolved = resolve_models(loaded)
    assert list(resolved) == ["hash-emb-k2", "bert-sr", "hashformer-md-proj"]
    assert resolved["hash-emb-k2"].spec.code.args["num_buckets"] == 1_011
    assert resolved["bert-sr"].pretrain.vocabulary_size == 1_797
    assert resolved["hashformer-md-proj"].pretrain.vocabulary_size == 500  # as the file says


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("{name: x, like: hash-emb-k2, coder: {num_buckets: 300}%s}", "coder.num_buckets"),
        ("{name: x, like: low-rank-bpe, embedding: {rank: 5}%s}", "embedding.rank"),
        ("{name: x, like: bert-sr, pretrain: {vocabulary_size: 700}%s}", "pretrain.vocabulary_size"),
    ],
)
def test_a_size_that_is_written_is_kept_and_not_beside_a_budget_of_its_own(experiment, model: str, key: str) -> None:
    sizes = {}
    for lines in ("", "budget: {embedding_parameters: 230_000}\n"):
        of_x = resolve_models(experiment(f"{lines}models: [hash-emb-k2, {model % ''}]"))["x"]
        sizes[lines] = (of_x.spec.code.args, of_x.spec.embedding.args, of_x.pretrain.vocabulary_size)
    assert len(set(map(str, sizes.values()))) == 1  # as without any budget
    loaded = experiment(f"models: [{model % ', budget: {embedding_parameters: 230_000}'}]")
    with pytest.raises(InputError, match=rf"yaml:\d+: {key} of 'x' is what its budget sets; leave out one of them"):
        resolve_models(loaded)


def test_a_list_of_one_budget_names_the_model_after_it_too(experiment) -> None:
    loaded = experiment("budget: {embedding_parameters: [230_000]}\nmodels: [hash-emb-k2-sum]")
    assert list(resolve_models(loaded)) == ["hash-emb-k2-sum-0.23M"]


def test_several_budgets_are_models_of_their_own(experiment) -> None:
    loaded = experiment(
        "models:\n- {name: hash-emb-k1-sum, budget: {embedding_parameters: [230_000, 6_400_000]}}\n- hash-emb-k2-sum"
    )
    resolved = resolve_models(loaded)
    assert list(resolved) == ["hash-emb-k1-sum-0.23M", "hash-emb-k1-sum-6.4M", "hash-emb-k2-sum"]
    assert resolved["hash-emb-k1-sum-6.4M"].spec.code.args["num_buckets"] == 49_995
    assert resolved["hash-emb-k2-sum"].spec.code.args["num_buckets"] == 1_000


def test_a_budget_that_a_model_cannot_meet_names_the_line(experiment) -> None:
    loaded = experiment("models:\n- {name: hashformer-md-proj, budget: {embedding_parameters: 5}}")
    with pytest.raises(InputError, match=r"^.*\.yaml:\d+: model hashformer-md-proj: its embedding has one size"):
        resolve_models(loaded)


@pytest.mark.parametrize("text", ["", "M", "-1M", "0", "nan", "1e400", "1 Mio"])
def test_no_number_of_parameters(text: str) -> None:
    with pytest.raises(InputError, match="write 230_000, 230k or 0.23M"):
        parameters_of(text)


def test_a_corpus_too_small_for_a_budgets_vocabulary_is_one_line() -> None:
    spec = with_budget(find_model("bert-sr"), 128, 230_000).spec  # 1,797 rows
    check_learned_rows(spec, 1_790)
    with pytest.raises(InputError, match=r"bert-sr: its budget asks for .* 1,797 rows, but its texts give 900; read"):
        check_learned_rows(spec, 900)
    check_learned_rows(find_model("bert-sr"), 900)  # without a budget, as many as there are


def test_a_list_of_budgets_is_not_empty(experiment) -> None:
    with pytest.raises(InputError, match="budget.embedding_parameters"):
        experiment("budget: {embedding_parameters: []}\nmodels: [hash-emb-k2]")


CLASSES = """
import torch
from torch import Tensor, nn
from hashbench.extend import Coder, Embedding

class Rows(Embedding):
    free_size = "rows"

    def __init__(self, dim: int, rows: int = 10, num_buckets: int = 7, kind: str = "x", scale: float = 1.0) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(self.sized(rows), dim))
        self.special = nn.Parameter(torch.zeros(5, dim))

    def sized(self, rows: int) -> int:
        return rows

class Plain(Rows):
    free_size = None

class Fixed(Rows):
    def sized(self, rows: int) -> int:
        return 10

class Slow(Rows):
    def sized(self, rows: int) -> int:
        return max(1, rows.bit_length())

class Broken(Rows):
    def sized(self, rows: int) -> int:
        return 1 // (rows % 3)

class OfCoder(Embedding):
    free_size = "num_buckets"

    def __init__(self, dim: int, num_buckets: int = 7) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(num_buckets, dim))

class Wrong(Rows):
    free_size = "row"

class Eights(Coder):
    name, width, dtype = "eights", 1, int

    def __init__(self, num_buckets: int = 8) -> None:
        from hashbench.extend import InputError
        if num_buckets % 8:
            raise InputError(f"eights: num_buckets {num_buckets} is no multiple of 8")
        self.num_buckets = num_buckets

    def encode_utf8(self, blob, offsets): ...
"""


def own(name: str, **keys: str) -> str:
    written = "".join(f", {key}: {value}" for key, value in keys.items())
    return f"models:\n- {{name: mine, use: 'own.py:{name}', tokenizer: words, objective: none{written}}}\n"


def sized(experiment, model: str, budget: str = "budget: {embedding_parameters: 230_000}\n") -> ModelSpec:
    loaded = experiment(budget + model)
    Path("own.py").write_text(CLASSES)
    return resolve_models(loaded)["mine"].spec


def test_a_class_of_ones_own_names_what_a_budget_sets(experiment) -> None:
    spec = sized(experiment, own("Rows"))
    assert spec.embedding.args == {"rows": 1_792} and embedding_size(spec, 128) == 128 * (1_792 + 5)


def test_an_entry_names_another_argument_than_its_class(experiment) -> None:
    spec = sized(experiment, own("Plain", free_size="rows"))
    assert spec.embedding.args == {"rows": 1_792}


def test_an_argument_of_the_coder_sizes_both(experiment) -> None:
    spec = sized(experiment, own("OfCoder", coder="md5-rows"))
    assert spec.code.args["num_buckets"] == 1_797 and embedding_size(spec, 128) == 128 * 1_797


def test_the_nearest_size_that_the_coder_takes_is_taken(experiment) -> None:
    spec = sized(experiment, own("OfCoder", coder="'own.py:Eights'"))
    assert spec.code.args["num_buckets"] == 1_800


def test_without_a_budget_it_has_its_own_size(experiment) -> None:
    assert embedding_size(sized(experiment, own("Rows"), budget=""), 128) == 128 * 15


def test_a_class_that_names_nothing_keeps_its_size(experiment) -> None:
    assert embedding_size(sized(experiment, own("Plain")), 128) == 128 * 15


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (own("Wrong"), r"free_size 'row' of class Wrong: no argument of coder md5-bits .* did you mean 'rows'\?"),
        (own("Rows", free_size="dim"), "free_size 'dim': no argument"),
        (own("Rows", free_size="self"), "free_size 'self': no argument"),
        (
            own("Rows", free_size="kind"),
            "model 'mine': free_size 'kind': no argument of coder .* that takes a whole number; they have .*rows",
        ),
        (own("Fixed"), r"does not grow with rows; name another free_size$"),
        (own("Slow"), "model mine: no embedding within 2 % of 230,000 parameters"),
        (own("Broken"), r"model mine: its embedding cannot be made with rows [\d,]+: ZeroDivisionError: .*; correct"),
        (own("Plain", budget="{embedding_parameters: 9_000}"), "leave the budget out, or name .* free_size"),
    ],
)
def test_what_cannot_be_sized_is_one_line_with_its_place(experiment, model: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^a\.yaml:\d+: .*{message}"):
        sized(experiment, model)


@pytest.mark.parametrize("argument", ["hash", "hashing", "base", "dim", "seed"])
def test_what_is_no_size_is_refused_with_the_sizes_of_the_model(experiment, argument: str) -> None:
    loaded = experiment(
        f"budget: {{embedding_parameters: 230_000}}\nmodels:\n- name: x\n  like: ternary-dense\n  free_size: {argument}"
    )
    with pytest.raises(InputError) as error:
        resolve_models(loaded)
    message = str(error.value)
    assert re.match(rf"a\.yaml:\d+: model 'x': free_size '{argument}': ", message) and "hash 1" not in message
    assert "bottleneck, features" in message and "\n" not in message


@pytest.mark.parametrize("name", FREE)
def test_every_free_size_of_the_suite_may_be_named(name: str) -> None:
    spec = find_model(name)
    named = with_free_size(replace(spec, free_size=None), spec.free_size.argument)
    assert (named.free_size.part, named.free_size.argument) == (spec.free_size.part, spec.free_size.argument)


@pytest.mark.parametrize(
    ("written", "is_size"),
    [
        ("x: int", True), ("x: int = 3", True), ("x: int | None = None", True), ("x: None | int = 3", True),
        ("x: 'Optional[int]' = None", True), ("x=3", True), ("x", True), ("x=True", False), ("x=None", False),
        ("x: bool = True", False), ("x: 'Sequence[int]' = ()", False), ("x: 'Literal[1, 2]' = 1", False),
        ("x: str = 'int'", False), ("x: float = 1.0", False), ("x: 'Mapping[str, int]' = None", False),
    ],
)  # fmt: skip
def test_an_argument_is_a_size_by_its_annotation_or_default(written: str, is_size: bool) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def part({written}): ...", namespace)
    assert _is_number(inspect.signature(namespace["part"]).parameters["x"]) == is_size


@pytest.mark.parametrize("dim", ["two", "0", "-4", "64.5", "true"])
def test_a_width_that_is_no_size_has_its_key(experiment, dim: str) -> None:
    loaded = experiment(f"models:\n- {{name: x, like: hash-emb-k2, encoder: {{dim: {dim}}}}}")
    with pytest.raises(InputError, match=r"^a\.yaml:9: model 'x': encoder: dim .* is no whole number from 1 on"):
        resolve_models(loaded)


def test_another_coder_takes_the_free_size_of_a_model_away(experiment) -> None:
    loaded = experiment(
        "budget: {embedding_parameters: 230_000}\nmodels:\n- {name: x, like: hashformer-md-emb-50k, coder: vocabulary}"
    )
    assert with_free_size(find_model("hashformer-md-emb-50k")).free_size is not None
    assert resolve_models(loaded)["x"].spec.free_size is None
