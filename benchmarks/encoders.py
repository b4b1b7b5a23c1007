"""CPU seconds of a training step: pQRNN's encoder and PRADO's against BERT's tiny one, over the same projection.

    python benchmarks/encoders.py --data FOLDER            # FOLDER/glue/sst2/train.parquet

A step is embedding, encoder, head, loss, gradients and fused AdamW over a batch of texts of similar length. All sides
read the same words and have 512 ternary features. Contestants take turns on each batch; the median of the ratios
within a batch is printed, since other work slows all of them down.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

import torch

from hashbench.data.sources.batching import text_batches
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import Batch, EncoderSpec, HeadSpec, ModelSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import find_architecture
from hashbench.models.objectives.classification import ClassificationHead
from hashbench.models.text.base import make_tokenizer
from hashbench.running.training.model import build_model

PQRNN = find_model("pqrnn-tiny")
CONTESTANTS = {
    "transformer": replace(PQRNN, encoder=EncoderSpec(), head=HeadSpec()),
    "pqrnn-tiny": PQRNN,
    "prado": find_architecture("prado").of_model(find_model("prado")),
}


class Step:
    """A model in training."""

    def __init__(self, spec: ModelSpec) -> None:
        self.model = build_model(spec, "tiny", seed=0).train()
        self.head = ClassificationHead.for_task(spec.head, self.model.encoder, n_outputs=2, label_names=("a", "b"))
        parameters = [*self.model.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)

    def seconds(self, batch: Batch) -> float:
        """CPU seconds of one step."""
        start = time.process_time()
        self.head.train().batch_loss(self.model, batch).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.process_time() - start


def batches(data: str, size: int, number: int) -> list[Batch]:
    """Labelled batches of sentences of SST-2, longest last."""
    texts = [text for text in load_task(find_task("sst2"), open_sources(data)).splits["train"].texts[0]]
    texts = texts[: size * number]
    tokenizer, coder = make_tokenizer("words", lowercase=True), make_coder(PQRNN.code.coder, **PQRNN.code.args)
    made = text_batches(
        [texts], tokenizer, coder, PQRNN.text.template, max_length=128, batch_size=size, interner=tokenizer.interner()
    )
    return [replace(batch, labels=torch.arange(len(batch)) % 2) for batch in made]


def main() -> None:
    """Prints the median CPU time of a step of each, and its ratio to the transformer's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="builtin", help="folder with glue/sst2, or builtin")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    steps = {name: Step(spec) for name, spec in CONTESTANTS.items()}
    taken = batches(options.data, options.batch, options.batches)
    print(
        f"{len(taken)} batches of {options.batch}, {sum(b.positions.shape[1] for b in taken) / len(taken):.0f} tokens"
    )
    for step in steps.values():
        step.seconds(taken[-1])
    rounds = [{name: step.seconds(batch) for name, step in steps.items()} for batch in taken]
    for name in steps:
        ratios = [each[name] / each["transformer"] for each in rounds]
        thirds = [statistics.median(ratios[first::3]) for first in range(3)]
        spread = f"{statistics.median(ratios):5.2f} ({min(thirds):.2f} to {max(thirds):.2f} in thirds of the batches)"
        print(f"{name:12} {1e3 * statistics.median(each[name] for each in rounds):7.1f} ms {spread}")


if __name__ == "__main__":
    main()
