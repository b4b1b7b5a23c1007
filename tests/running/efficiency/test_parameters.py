"""Parameter counts, to the digit, of every row of tables 2 and 6 of Xue and Aletras (2022) that the suite trains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.efficiency import parameters
from hashbench.running.efficiency.parameters import Counts, count, outline_of
from hashbench.running.experiment.models import ResolvedModel
from hashbench.running.experiment.recipes import Finetune, Pretrain

# Exact integers behind the printed figures, worked out from appendix B and the released modules: all but the token part
# 86,043,650 = 12 layers of 7,087,872 + 515 rows of 768 + a LayerNorm of 1,536 + a head of 592,130.
TABLE = Counts(124_647_170, 38_603_520)  # 50,265 rows; printed 124.6M, 38.6M
SMALL_TABLE = Counts(86_840_834, 797_184)  # 1,038 rows; 86.8M, 797.2K
POOL = Counts(86_845_442, 797_184)  # 1,024 + 13 + 1 rows count, 1,024 + 1 + 13 + 6 are stored; 86.8M, 797.2K
ADD = Counts(86_244_866, 197_376)  # 257 rows; 86.2M, 197.4K
PROJ = Counts(86_146_562, 99_072)  # 129 rows; 86.1M, 99.1K
EXACT = {
    "bert-mlm": TABLE,
    "bert-sr": TABLE,
    **{f"hashformer-{h}-emb-50k": TABLE for h in ("md", "lsh")},
    **{f"hashformer-{h}-emb-1k": SMALL_TABLE for h in ("md", "lsh")},
    **{f"hashformer-{h}-pool": POOL for h in ("md", "lsh")},
    **{f"hashformer-{h}-add": ADD for h in ("md", "lsh")},
    **{f"hashformer-{h}-proj": PROJ for h in ("md", "lsh")},
    **{f"hashformer-{h}-emb-50k-bpe": TABLE for h in ("md", "lsh")},
    **{f"hashformer-{h}-proj-bpe": PROJ for h in ("md", "lsh")},
    "canine-c": Counts(132_084_482, 12_582_912),  # transformers' model whole; the printed 121M is another frame
    # Projection 420 x 768, LayerNorm 1,536, two layers of 7,087,872, pooler 590,592, head 1,538; 15.1M, 322.6K
    "proformer-glue": Counts(15_091_970, 322_560),
}


@pytest.mark.parametrize("name", EXACT)
def test_counts_of_the_paper(name: str) -> None:
    assert count(find_model(name)) == EXACT[name]


def test_every_model_of_the_paper_has_an_exact_count() -> None:
    assert {spec.name for spec in models().values() if spec.origin.paper == "hashformers"} == set(EXACT)


def test_the_ordinary_token_row_can_be_left_out() -> None:
    """Equations 13 to 15 of appendix B: 1024 + 13, 2 T and T rows."""
    formula = {"pool": 1037 * 768, "add": 256 * 768, "proj": 128 * 768}
    for form, rows in formula.items():
        counts = count(find_model(f"hashformer-md-{form}"), count_generic_row=False)
        assert counts == Counts(count(find_model(f"hashformer-md-{form}")).total, rows)
    assert count(find_model("bert-mlm"), count_generic_row=False) == TABLE


def test_classes_and_vocabulary_change_the_counts() -> None:
    assert count(find_model("bert-mlm"), n_classes=3).total == TABLE.total + 769
    smaller = count(find_model("bert-mlm"), vocabulary_rows=50_165)
    assert smaller == Counts(TABLE.total - 100 * 768, TABLE.embedding - 100 * 768)


def test_a_variation_is_counted_as_it_is() -> None:
    """`coder: {bits: 256}` doubles the bit vectors of Proj."""
    spec = find_model("hashformer-lsh-proj").with_args(code={"bits": 256})
    assert count(spec).embedding == 257 * 768


def test_tiny() -> None:
    """2 layers of 198,272, 515 rows of 128 and a LayerNorm of 256, 134 rows of 128, a head of 128 * 129 + 2 * 129."""
    assert count(find_model("hashformer-md-proj"), "tiny").total == 396_544 + 65_920 + 256 + 134 * 128 + 16_770


def model(name: str, vocabulary_size: int = 400) -> ResolvedModel:
    return ResolvedModel(name, find_model(name), Pretrain(vocabulary_size=vocabulary_size), Finetune(), ())


def test_a_model_is_counted_once_whatever_its_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outline_of(model("hashformer-md-proj"), "tiny", 2)
    assert found.weights == count(find_model("hashformer-md-proj"), "tiny", n_classes=2, deployed=True).total
    monkeypatch.setattr(parameters, "count", None)
    again = replace(model("hashformer-md-proj"), finetune=Finetune(epochs=7))
    assert outline_of(again, "tiny", 2) is found


def test_sizes_heads_and_learned_vocabularies_are_told_apart() -> None:
    small, large = (outline_of(model("bert-mlm", rows), "tiny") for rows in (400, 500))
    assert large.weights - small.weights == 100 * 128
    assert outline_of(model("bert-mlm"), "tiny", 7).weights > small.weights
    assert outline_of(model("bert-mlm"), "mini").weights > outline_of(model("bert-mlm"), "tiny").weights


def test_a_vocabulary_of_a_file_has_its_own_rows(tmp_path: Path) -> None:
    """Not the 30,522 of BERT's: five special ones, and a row a piece."""
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    named = model("bert-tiny")
    spec = replace(named.spec, text=replace(named.spec.text, args={"vocab": str(tmp_path)}))
    assert outline_of(replace(named, spec=spec), "tiny").embedding == (5 + 2) * 128
