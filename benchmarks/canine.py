"""CANINE's forward pass for classification, samples a second, against transformers on the same weights and inputs.

    python benchmarks/canine.py                               # random weights of the published shape, built-in texts
    python benchmarks/canine.py --weights FOLDER --data DATA  # saved weights; SST-2 of DATA/glue
    python benchmarks/canine.py --size tiny --rounds 9

The peer is `CanineForSequenceClassification`. Both sides get the same code points, mask and segments, texts joined to
the length that is asked for, no two rows equally long; largest differences of logits are printed. Contestants take
turns, medians of rounds are printed, the ratio is the median of the ratios within a round.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import CanineConfig, CanineForSequenceClassification

from hashbench.data.sources.sources import open_sources
from hashbench.data.sources.weights import locate_weights
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.models.embeddings.base import Batch, Published
from hashbench.models.embeddings.canine import SPECIAL_POINTS
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.canine import SIZES
from hashbench.models.objectives.classification import ClassificationHead
from hashbench.running.training.model import Model, build_model, load_published

CLS, PAD, SEP = (SPECIAL_POINTS[name] for name in ("[CLS]", "[PAD]", "[SEP]"))


def main() -> None:
    """Prints samples a second, the ratio and the largest difference of the logits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="builtin", help="folder with glue/sst2, or builtin")
    parser.add_argument("--weights", help="folder with saved weights of the size; random without")
    parser.add_argument("--size", default="base", choices=SIZES)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=512, help="characters of the longest row")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--cpu-time", action="store_true", help="seconds of CPU, not of the clock: on a busy machine")
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    torch.set_num_threads(options.threads)
    peer = their_model(options.size, options.weights)
    model, head = our_model(peer, options.size, options.weights)
    points, mask = inputs(options.data, options.batch, options.length)
    batch = batch_of(points, mask)

    def theirs() -> Tensor:
        logits: Tensor = peer(points, attention_mask=mask.long()).logits
        return logits

    def ours() -> Tensor:
        outputs: Tensor = head(*model.for_head(batch, head.pooling))
        return outputs

    with torch.inference_mode():
        difference = (ours() - theirs()).abs().max().item()
        rounds = [(seconds(theirs, clock), seconds(ours, clock)) for _ in range(options.rounds)]
    rows = f"{options.batch} rows of at most {options.length} characters, threads {options.threads}"
    rows += ", CPU seconds" if options.cpu_time else ""
    print(f"canine, {options.size}: {rows}; logits differ by at most {difference:.1e}")
    for name, times in zip(("transformers", "hashbench"), zip(*rounds, strict=True), strict=True):
        print(f"{name:14s} {options.batch / statistics.median(times):8.2f} samples/s")
    ratios = [one / other for one, other in rounds]
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds)")


def seconds(work: Callable[[], Tensor], clock: Callable[[], float]) -> float:
    """What one call takes by the clock."""
    began = clock()
    work()
    return clock() - began


def their_model(size: str, weights: str | None) -> nn.Module:
    """The peer in evaluation mode."""
    if weights is not None:
        return CanineForSequenceClassification.from_pretrained(weights).eval()
    shape = SIZES[size]
    torch.manual_seed(0)
    config = CanineConfig(
        hidden_size=shape.dim,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
    )
    return CanineForSequenceClassification(config).eval()


def our_model(peer: nn.Module, size: str, weights: str | None) -> tuple[Model, ClassificationHead]:
    """canine-c with the peer's weights, its classifier included."""
    spec = find_model("canine-c")
    model = build_model(spec, size, seed=0)
    tensors = {name.removeprefix("canine."): tensor for name, tensor in peer.state_dict().items()}
    load_published(model, locate_weights(weights).read() if weights else Published(tensors, {}, "the peer"))
    head = ClassificationHead(model.config.dim, 2, pooling=spec.head.pooling, dense_dropout=spec.head.dense_dropout)
    assert head.dense is not None and model.published_dense is not None
    head.dense.load_state_dict(model.published_dense)
    head.out.load_state_dict({kind: tensors[f"classifier.{kind}"] for kind in ("weight", "bias")})
    return model.eval(), head.eval()


def inputs(data: str, n_rows: int, length: int) -> tuple[Tensor, Tensor]:
    """Code points (B, L) and mask: texts of SST-2 one after the other, rows from all of the length to 70 % of it."""
    texts = iter("  ".join(load_task(find_task("sst2"), open_sources(data)).splits["train"].texts[0]))
    points = torch.full((n_rows, length), PAD)
    for row in range(n_rows):
        n = length - 2 - int(0.3 * length * row / n_rows)
        line = [CLS, *(ord(next(texts)) for _ in range(n)), SEP]
        points[row, : len(line)] = torch.tensor(line)
    return points, points != PAD


def batch_of(points: Tensor, mask: Tensor) -> Batch:
    """The same rows as distinct characters and places in them."""
    specials = torch.tensor(list(SPECIAL_POINTS.values()))
    types, places = points.unique(return_inverse=True)
    places = places + len(specials)
    for place, point in enumerate(specials):
        places[points == point] = place
    return Batch(types[:, None], places, mask)


if __name__ == "__main__":
    main()
