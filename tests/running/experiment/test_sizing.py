"""Equal budgets: the free size of each embedding, in experiments and by themselves."""

from __future__ import annotations

import re

import pytest

from hashbench.common.errors import InputError
from hashbench.common.showing import BUDGET_TOLERANCE
from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.sizing import check_learned_rows, embedding_size, parameters_of, with_budget

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
