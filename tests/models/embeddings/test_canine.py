"""CANINE's hash embedding: the released code's hashes, `transformers`' vectors, both frames of counting."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.data.sources.batching import Collator, encode_rows
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import Batch, Counts
from hashbench.models.embeddings.canine import SPECIAL_POINTS, CharacterHashes
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import make_encoder
from hashbench.models.text.base import make_tokenizer
from hashbench.running.efficiency.parameters import count
from tests.oracles import canine as oracle
from tests.published_canine import SMALL, classifier, published

POINTS = [0, 1, 97, 0x65E5, 0x1F600, 0x10FFFF, 0xE000, 16_383, 16_384]


def test_hashes_equal_the_plain_version() -> None:
    found = CharacterHashes(8).buckets(torch.tensor(POINTS)[:, None])
    assert found.tolist() == [oracle.buckets(point) for point in POINTS]
    fewer = CharacterHashes(8, num_buckets=1000).buckets(torch.tensor(POINTS)[:, None])
    assert fewer.tolist() == [oracle.buckets(point, 1000) for point in POINTS]
    alone = CharacterHashes(8, num_hashes=1).buckets(torch.tensor(POINTS)[:, None])
    assert alone.tolist() == [oracle.buckets(point)[:1] for point in POINTS]


@pytest.mark.e2e
@pytest.mark.parametrize("num_buckets", [16_384, 16_000])
def test_all_hashes_of_two_characters_collide_or_none_does(num_buckets: int) -> None:
    """Odd primes modulo 2^14 are bijections, and modulo 16,000 too, since none divides it: of all 1,114,112 code points
    there are just as many different rows of eight as buckets."""
    embedding = CharacterHashes(8, num_buckets=num_buckets)
    hashes = embedding.buckets(torch.arange(0x110000)[:, None]).numpy()  # (1114112, 8)
    assert len(np.unique(hashes, axis=0)) == num_buckets
    assert all(len(np.unique(hashes[:, k])) == num_buckets for k in range(8))


def test_special_tokens_collide_with_wide_spaces() -> None:
    embedding = CharacterHashes(16)
    spaces = torch.tensor([[0x2000], [0x0000], [0x2001], [0x2002], [0x2003]])
    assert list(SPECIAL_POINTS) == ["[CLS]", "[PAD]", "[SEP]", "[BOS]", "[MASK]"]
    assert torch.equal(embedding.special_rows(), embedding.embed_types(spaces))


@pytest.mark.e2e
def test_vectors_equal_transformers() -> None:
    model = classifier(**SMALL)
    embedding = CharacterHashes(32, num_buckets=512)
    embedding.load_state_dict(embedding.from_published(published(model)))
    theirs = model.canine.char_embeddings._embed_hash_buckets(torch.tensor([POINTS]), 32, 8, 512)[0]
    assert (embedding.embed_types(torch.tensor(POINTS)[:, None]) - theirs).abs().max().item() < 1e-6


def published_counts() -> dict[str, int]:
    """The exact counts of canine-c in the reference data of HashFormers' table 2."""
    text = (files("hashbench.results.papers") / "published" / "hashformers.csv").read_text()
    rows = [row for row in csv.DictReader(text.splitlines()) if row["model"] == "canine-c" and row["unit"] == "params"]
    return {row["column"]: int(row["value"]) for row in rows}


def test_counts_in_both_frames() -> None:
    spec = find_model("canine-c")
    known = published_counts()
    assert count(spec) == Counts(known["total_params_exact"], known["emb_params_exact"])
    frame = Counts(known["total_params_published_frame"], known["emb_params_published_frame"])
    assert count(spec, frame=spec.origin.other_frames[0]) == frame == Counts(121_074_434, 12_288_000)


@pytest.mark.parametrize(("n_classes", "total"), [(1, 132_083_713), (2, 132_084_482), (3, 132_085_251)])
def test_counts_of_other_heads(n_classes: int, total: int) -> None:
    """CanineForSequenceClassification of transformers, counted by building it."""
    assert count(find_model("canine-c"), n_classes=n_classes).total == total


def test_what_is_trained_is_the_published_model_without_the_way_back_to_characters() -> None:
    """132,084,482 less 4,720,896 of the projection and 7,087,872 of the last layer."""
    assert count(find_model("canine-c-scratch")) == Counts(120_275_714, 12_582_912)


@pytest.mark.e2e
def test_the_count_equals_transformers_at_any_shape() -> None:
    shape = {"layers": 2, "heads": 4, "dim": 32, "feed_forward": 64, "max_positions": 512}
    spec = find_model("canine-c").with_args(encoder=shape, embedding={"num_buckets": 512})
    assert count(spec, "tiny").total == sum(p.numel() for p in classifier(**SMALL).parameters())


def test_narrowed_it_gives_the_same_vectors_and_gets_its_rows_back() -> None:
    torch.manual_seed(0)
    embedding = CharacterHashes(16, num_buckets=64)
    codes = torch.tensor([[97], [98], [0x65E5]])
    before, specials = embedding.embed_types(codes), embedding.special_rows()
    whole = embedding.weight.detach().clone()
    embedding.narrow(codes)
    assert len(embedding.weight) == 8 * 7  # three characters and five special tokens; CLS and PAD agree modulo 64
    assert torch.equal(embedding.embed_types(codes), before) and torch.equal(embedding.special_rows(), specials)
    with torch.no_grad():
        embedding.weight.add_(1.0)
    embedding.widen()
    touched = torch.zeros(8 * 64, dtype=torch.bool)
    for point in (97, 98, 0x65E5, *SPECIAL_POINTS.values()):
        touched[[k * 64 + bucket for k, bucket in enumerate(oracle.buckets(point, 64))]] = True
    assert torch.equal(embedding.weight, torch.where(touched[:, None], whole + 1.0, whole))


@pytest.mark.parametrize("num_hashes", [0, 3, 17])
def test_hashes_that_cannot_be(num_hashes: int) -> None:
    with pytest.raises(InputError, match=f"num_hashes {num_hashes} and dim 16; take 1 to 16 hashes, a number that di"):
        CharacterHashes(16, num_hashes=num_hashes)


def test_no_buckets() -> None:
    with pytest.raises(InputError, match="embedding: num_buckets 0; take at least one"):
        CharacterHashes(16, num_buckets=0)


@pytest.mark.e2e
def test_published_tables_of_another_size_are_refused() -> None:
    weights = published(classifier(**SMALL))
    with pytest.raises(InputError, match="^weights test: num_hash_buckets is 512, but 64 here; set num_hashes and"):
        CharacterHashes(32, num_buckets=64).from_published(weights)
    with pytest.raises(InputError, match="num_hash_functions is 8, but 4 here"):
        CharacterHashes(32, num_hashes=4, num_buckets=512).from_published(weights)


def rows_of(*columns: list[str]) -> tuple[Batch, np.ndarray]:
    """A batch of canine-c from texts, and the code points it stands for (B, L)."""
    template = find_model("canine-c").text.template
    interner = make_tokenizer("characters").interner()
    provisional = [interner.add(column) for column in columns]
    types, remap = interner.finish()
    rows = encode_rows([column.remapped(remap) for column in provisional], template, 2048)
    collate = Collator(make_coder("codepoints").encode_types(types), template)
    chosen = np.arange(len(rows))
    ids = rows.padded(chosen, collate.pad, None, template.pad_multiple)
    batch = collate(ids, row_ids=chosen, second=rows.second)
    table = torch.cat([torch.tensor(list(SPECIAL_POINTS.values()))[:, None], batch.codes])[:, 0]
    return batch, table[batch.positions].numpy()


@pytest.mark.e2e
def test_inputs_equal_the_tokenizer_of_transformers_but_for_the_segments_of_pairs() -> None:
    """Its fifth version gives zeros for both parts; the model was trained on 0 and 1, as the fourth gave them."""
    from transformers import CanineTokenizer

    first, second = ["Hello, World", "", "naïve 日"], ["a [MASK]", "b", ""]
    theirs = CanineTokenizer()(first, second, padding=True, pad_to_multiple_of=4)
    batch, points = rows_of(first, second)
    assert points.tolist() == theirs["input_ids"]
    assert batch.mask.long().tolist() == theirs["attention_mask"]
    assert batch.segments is not None
    assert batch.segments[1].tolist() == [0, 0, 1, 1] + [0] * (points.shape[1] - 4)  # CLS SEP b SEP, padding


def test_single_and_empty_texts() -> None:
    batch, points = rows_of(["Ab", ""])
    assert points.tolist() == [[0xE000, 65, 98, 0xE001], [0xE000, 0xE001, 0, 0]]
    assert batch.segments is None and batch.mask.tolist() == [[True] * 4, [True, True, False, False]]


@pytest.mark.e2e
def test_pairs_are_cut_longest_first() -> None:
    from transformers import CanineTokenizer

    first, second = ["x" * 3000, "x" * 3000, "x" * 5], ["y" * 10, "y" * 2001, "y" * 3000]
    theirs = CanineTokenizer()(first, second, truncation="longest_first", max_length=2048, padding=True)
    assert rows_of(first, second)[1].tolist() == theirs["input_ids"]


@pytest.mark.parametrize("encoder", ["bert", "canine"])
def test_it_works_before_any_encoder(encoder: str) -> None:
    embedding = CharacterHashes(128)
    batch, _ = rows_of(["Hello", "a"], ["world", ""])
    assert batch.segments is not None
    states = make_encoder(encoder, "tiny", type_rows=2)(embedding(batch), batch.mask, batch.segments)
    assert states.shape == (2, 16 if encoder == "bert" else 4, 128) and bool(states.isfinite().all())
