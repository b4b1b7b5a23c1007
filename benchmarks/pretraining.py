"""Pre-training speed, tokens a second, against transformers' BERT in a plain loop on the same batches.

    python benchmarks/pretraining.py                      # tiny, the two objectives, on the CPU
    python benchmarks/pretraining.py --size base --rounds 1 --steps 2 --batch 8 --length 512
    python benchmarks/pretraining.py --device cuda --size base --batch 64 --length 512 --precision bf16 --peak 989
    python benchmarks/pretraining.py --objective mlm_signatures --batch 64 --vocabulary 1797    # peer: mlm over these

Peers: BertForMaskedLM and BertForTokenClassification of the same shape and dropout, logits at every position, with
`torch.optim.AdamW(model.parameters(), lr=...)` at torch's defaults, as a user would write it. Ours: the suite's
encoder, heads, fused AdamW and, in its turns, an allocator that keeps freed memory (`--allocator none`: glibc's
defaults for all). All get the same corrupted batches: type ids drawn from Zipf's law over the vocabulary, rows without
padding. Contestants take turns (A B C A B C ...); medians of rounds are printed, and the ratios to a peer are medians
of the ratios within a round. A step is forward, backward and optimizer; making the batch is not timed. On a machine
that others use, `--threads 1 --clock cpu` counts the work instead of the waiting.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.common.process import keep_freed_memory
from hashbench.models.coders.signature import PREDICTED_BUCKETS, PREDICTED_HASHES
from hashbench.models.embeddings.base import SPECIALS, Batch
from hashbench.models.embeddings.registry import build_embedding, find_model
from hashbench.models.encoders.bert import SIZES, BertConfig, BertEncoder
from hashbench.models.objectives import mlm, shuffle_random
from hashbench.running.training.fit import compile_parts
from hashbench.running.training.model import Model, make_head
from hashbench.running.training.recipe import adamw

LEARNING_RATE = 1e-4
IGNORED = -100


@dataclass(frozen=True)
class Step:
    """A batch in the forms that the contestants want."""

    rows: Tensor  # (B, L) corrupted rows of a vocabulary, for the peer
    labels: Tensor  # (B, L) rows (MLM) or 0, 1, 2 (S+R), -100 = none
    batch: Batch  # distinct types, positions and the same labels, for ours


@dataclass
class Contestant:
    """A model with its optimizer, and the loss of a step."""

    name: str
    module: nn.Module
    loss: Callable[[Step], Tensor]
    optimizer: torch.optim.Optimizer
    ours: bool
    flops: float  # of a token, forward and backward: 6 times the multiplied weights, and attention


def zipf_ids(options: argparse.Namespace, seed: int) -> np.ndarray:
    """Type ids (B, L) int32 by Zipf's law, each row between <s> and </s>."""
    n_types = options.vocabulary - len(SPECIALS)
    weights = 1.0 / np.arange(2, n_types + 2)
    shape = (options.batch, options.length)
    ids = np.random.default_rng(seed).choice(n_types, size=shape, p=weights / weights.sum()).astype(np.int32)
    ids[:, 0], ids[:, -1] = -1, -3
    return ids


def make_steps(options: argparse.Namespace, objective: str, codes: np.ndarray) -> list[Step]:
    """Corrupted batches on the device; `codes` (n_types, c) of all types."""
    steps = []
    for number in range(options.steps):
        ids, row_ids = zipf_ids(options, number), np.arange(options.batch) + number * options.batch
        corrupt = shuffle_random.corrupt if objective == "shuffle_random" else mlm.corrupt
        corrupted, labels = corrupt(ids, row_ids, seed=0, epoch=0, n_types=options.vocabulary - len(SPECIALS))
        rows = np.where(corrupted < 0, -1 - corrupted, corrupted + len(SPECIALS))
        if objective == "mlm":
            labels = np.where(labels == IGNORED, IGNORED, labels + len(SPECIALS))
        types, inverse = np.unique(corrupted, return_inverse=True)
        ordinary = types >= 0
        places = np.where(ordinary, np.cumsum(ordinary) - 1 + len(SPECIALS), -1 - types)[inverse]
        batch = Batch(
            codes=torch.from_numpy(codes[types[ordinary]]),
            positions=torch.from_numpy(places.reshape(ids.shape)),
            mask=torch.ones(ids.shape, dtype=torch.bool),
            labels=torch.from_numpy(labels).long(),
            padded=False,
            label_codes=torch.from_numpy(signatures(options)) if objective == "mlm_signatures" else None,
        )
        if objective != "shuffle_random" and options.device != "cpu":  # as a training does before it sends a batch
            batch = mlm.with_columns(batch, fixed_shapes=True)
        batch = batch.to(options.device)
        assert batch.labels is not None
        steps.append(Step(torch.from_numpy(rows).long().to(options.device), batch.labels, batch))
    return steps


def our_codes(name: str, options: argparse.Namespace) -> np.ndarray:
    """Codes of all types for a model: rows of the vocabulary, or random numbers, which cost the same as true ones."""
    coder, n_types = find_model(name).code.coder, options.vocabulary - len(SPECIALS)
    if coder == "vocabulary":
        return np.arange(n_types)[:, None] + len(SPECIALS)
    if coder == "signature":
        return signatures(options)
    return np.random.default_rng(1).integers(0, 256, size=(n_types, 16), dtype=np.uint8)


def signatures(options: argparse.Namespace) -> np.ndarray:
    """A random signature of each type (n_types, 4) int32."""
    shape = (options.vocabulary - len(SPECIALS), PREDICTED_HASHES)
    return np.random.default_rng(2).integers(1, PREDICTED_BUCKETS, size=shape, dtype=np.int32)


def ours(name: str, objective: str, config: BertConfig, options: argparse.Namespace) -> Contestant:
    """A model of the suite with its pre-training head."""
    spec = find_model(name)
    if spec.code.coder == "vocabulary":
        spec = replace(
            spec, embedding=replace(spec.embedding, args={**spec.embedding.args, "num_rows": options.vocabulary})
        )
    model = Model(build_embedding(spec, config.dim), BertEncoder(config))
    head = make_head(model, objective)
    module = nn.ModuleList([model, head]).to(options.device).train()

    if options.compile:
        compile_parts(model, head, fixed_shapes=True)

    def loss(step: Step) -> Tensor:
        return head.batch_loss(model, step.batch, options.logits)

    optimizer = adamw(module, learning_rate=LEARNING_RATE, betas=(0.9, 0.9999), eps=1e-8, weight_decay=0.01)
    everywhere = objective == "mlm" and options.logits == "all"
    share = 1.0 if everywhere else mlm.PREDICT_PROB
    return Contestant(
        f"hashbench {name}, {objective}", module, loss, optimizer, True, token_flops(config, objective, options, share)
    )


def peer(objective: str, config: BertConfig, options: argparse.Namespace) -> Contestant:
    """transformers' BERT with the same shape and dropout, and the optimizer of a plain loop."""
    from transformers import BertConfig, BertForMaskedLM, BertForTokenClassification

    kind = BertForMaskedLM if objective == "mlm" else BertForTokenClassification
    shape = BertConfig(
        vocab_size=options.vocabulary,
        hidden_size=config.dim,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        max_position_embeddings=config.max_positions,
        type_vocab_size=config.type_rows,
        layer_norm_eps=config.eps,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.attention_dropout,
        num_labels=3,
    )
    module = kind(shape).to(options.device).train()
    if options.compile:
        module.compile()

    def loss(step: Step) -> Tensor:
        result: Tensor = module(input_ids=step.rows, labels=step.labels).loss
        return result

    optimizer = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE)
    name = f"transformers {kind.__name__}"
    return Contestant(name, module, loss, optimizer, False, token_flops(config, objective, options, 1.0))


def token_flops(config: BertConfig, objective: str, options: argparse.Namespace, share: float) -> float:
    """Floating-point operations of a token in a training step: 6 for each multiplied weight, 12 d L for attention."""
    layer = 4 * config.dim**2 + 2 * config.dim * config.feed_forward
    rows = {"mlm": options.vocabulary, "mlm_signatures": PREDICTED_HASHES * PREDICTED_BUCKETS}.get(objective)
    head = 3 * config.dim if rows is None else share * config.dim * (config.dim + rows)
    return 6 * (config.layers * layer + head) + 12 * config.layers * config.dim * options.length


def seconds(contestant: Contestant, steps: list[Step], options: argparse.Namespace) -> float:
    """Time of training on the steps once, with the allocator as the contestant's users have it."""
    keep_freed_memory(options.allocator == "ours" and contestant.ours)
    contestant.optimizer.zero_grad()
    autocast = torch.autocast(options.device, torch.bfloat16) if options.precision == "bf16" else nullcontext()
    synchronise = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    synchronise()
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    start = clock()
    for step in steps:
        with autocast:
            loss = contestant.loss(step)
        loss.backward()
        contestant.optimizer.step()
        contestant.optimizer.zero_grad()
    synchronise()
    return clock() - start


def contests(
    config: BertConfig, options: argparse.Namespace
) -> Iterator[tuple[str, list[Contestant], list[list[Step]]]]:
    """For each objective the peer, then ours, and the steps of each (the same corruption).

    The peer of signatures is our `mlm` over the vocabulary, with the same rows and labels.
    """
    if options.objective == "mlm_signatures":
        names = {"bert-mlm": ["mlm", "mlm_signatures"], "multihashformer": ["mlm_signatures"]}
        pairs = [(name, objective) for name, objectives in names.items() for objective in objectives]
        contestants = [ours(name, objective, config, options) for name, objective in pairs]
        steps = [make_steps(options, objective, our_codes(name, options)) for name, objective in pairs]
        yield options.objective, contestants, steps
        return
    for objective, names in (("mlm", ["bert-mlm"]), ("shuffle_random", ["bert-sr", "hashformer-lsh-proj"])):
        if options.objective in (objective, "both"):
            contestants = [
                peer(objective, config, options),
                *(ours(name, objective, config, options) for name in names),
            ]
            steps = [make_steps(options, objective, our_codes(name, options)) for name in (names[0], *names)]
            yield objective, contestants, steps


def report(
    objective: str, contestants: list[Contestant], times: list[list[float]], options: argparse.Namespace
) -> None:
    """Prints a line for each contestant: tokens a second, share of the peak, ratio to the peer."""
    tokens = options.steps * options.batch * options.length
    for contestant, own in zip(contestants, times, strict=True):
        rate = tokens / statistics.median(own)
        ratios = [first / mine for first, mine in zip(times[0], own, strict=True)]
        spread = f"{statistics.median(ratios):6.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
        share = f"  {100 * rate * contestant.flops / (options.peak * 1e12):5.1f} % of peak" if options.peak else ""
        print(f"{objective:15} {contestant.name:40} {rate:12,.0f} tokens/s  {spread}{share}", flush=True)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(SIZES), default="tiny")
    parser.add_argument("--objective", choices=["mlm", "shuffle_random", "mlm_signatures", "both"], default="both")
    parser.add_argument("--vocabulary", type=int, default=50_265, help="rows of it, special tokens included")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=4, help="steps of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--logits", choices=["labels", "all"], default="labels", help="where our MLM computes logits")
    parser.add_argument("--no-dropout", action="store_true", help="for all contestants")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["32", "bf16"], default="32", help="bf16: autocast for all contestants")
    parser.add_argument("--compile", action="store_true", help="torch.compile, for all contestants")
    parser.add_argument("--allocator", choices=["ours", "none"], default="ours", help="who keeps freed memory")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: processor time of all threads")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: torch's choice")
    parser.add_argument("--peak", type=float, default=0.0, help="TFLOP/s of the device, to print shares of it")
    return parser.parse_args()


def main() -> None:
    """Runs the contests and prints their lines."""
    options = parse()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    config = SIZES[options.size]
    if options.no_dropout:
        config = replace(config, dropout=0.0, attention_dropout=0.0)
    print(
        f"torch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads, {options.precision}, {config}"
    )
    for objective, contestants, steps in contests(config, options):
        for contestant, own_steps in zip(contestants, steps, strict=True):
            # A warm-up; of several steps where each shape is compiled first.
            seconds(contestant, own_steps[: 3 if options.compile else 1], options)
        times: list[list[float]] = [[] for _ in contestants]
        for _ in range(options.rounds):
            for contestant, own_steps, own in zip(contestants, steps, times, strict=True):
                own.append(seconds(contestant, own_steps, options))
        report(objective, contestants, times, options)


if __name__ == "__main__":
    main()
