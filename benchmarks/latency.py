"""EELBERT, table 5: the time to get the embeddings of one short sentence, tokenization excluded, beside BERT's.

    python benchmarks/latency.py                      # tiny, mini and base, one thread
    python benchmarks/latency.py --sizes tiny --rounds 500

Ten sentences, one at a time, from their tokens to the states of the last layer. BERT begins with the rows of its
tokens, which tokenization gives it; EELBERT begins with their strings: cold it hashes every token, warm it looks up the
codes of types that it has met, and the bytes of that memory are printed. The three take turns within a round; times are
medians over rounds and sentences, ratios medians of the ratios within a round. Weights are fresh: times do not depend
on them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from tokenizers import normalizers, pre_tokenizers

from hashbench.models.coders.base import Coder, RememberedCodes, make_coder
from hashbench.models.embeddings.base import END, SPECIALS, START, Batch
from hashbench.models.embeddings.registry import find_model, with_dim
from hashbench.running.training.model import Model, build_model

# Written for this benchmark; the paper's ten have a mean word length of 4.8 and are not published.
SENTENCES = Path(__file__).with_name("sentences.txt").read_text().splitlines()
GOALS = {"cold": 1.3, "warm": 1.15}  # times BERT, at tiny; the paper has about 2.3
ROWS = 30_522  # of BERT's table
Work = Callable[[], object]


def tokens_of(sentence: str) -> list[str]:
    """BERT's words and punctuation. Common English words are whole pieces of its vocabulary."""
    text = normalizers.BertNormalizer().normalize_str(sentence)
    return [token for token, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]


def as_batch(codes: torch.Tensor) -> Batch:
    """The codes of a sentence's tokens, in their order, between [CLS] and [SEP]."""
    first = len(SPECIALS)
    positions = torch.tensor([[START, *range(first, first + len(codes)), END]])  # (1, L)
    return Batch(codes, positions, torch.ones_like(positions, dtype=torch.bool), padded=False)


def from_rows(model: Model, rows: Sequence[int]) -> torch.Tensor:
    """BERT: rows of the vocabulary -> states (1, L, d)."""
    states: torch.Tensor = model(as_batch(torch.tensor(rows)[:, None]))
    return states


def from_strings(model: Model, coder: Coder, tokens: Sequence[str]) -> torch.Tensor:
    """EELBERT: tokens -> states (1, L, d)."""
    states: torch.Tensor = model(as_batch(torch.from_numpy(coder.encode(tokens))))
    return states


def milliseconds(work: Work) -> float:
    """CPU time of one call."""
    began = time.process_time()
    work()
    return 1000.0 * (time.process_time() - began)


def contestants(size: str) -> tuple[list[dict[str, Work]], RememberedCodes]:
    """For each sentence the three ways to its states; and the memory of the warm one."""
    bert, eelbert = find_model(f"bert-{size}"), find_model(f"eelbert-{size}")
    models = [build_model(spec, size, seed=0).eval() for spec in (bert, eelbert)]
    spec = with_dim(eelbert, models[1].config.dim)
    coder = make_coder(spec.code.coder, **spec.code.args)
    memory = RememberedCodes(coder)
    works: list[dict[str, Work]] = []
    for sentence in SENTENCES:
        tokens = tokens_of(sentence)
        memory.encode(tokens)
        rows = [sum(map(ord, token)) * 7919 % (ROWS - len(SPECIALS)) + len(SPECIALS) for token in tokens]  # any rows
        works.append(
            {
                "bert": partial(from_rows, models[0], rows),
                "cold": partial(from_strings, models[1], coder, tokens),
                "warm": partial(from_strings, models[1], memory, tokens),
            }
        )
    return works, memory


def measure(size: str, rounds: int) -> None:
    """Measures one size and prints its lines."""
    works, memory = contestants(size)
    times: dict[str, list[float]] = {"bert": [], "cold": [], "warm": []}
    with torch.inference_mode():
        for sentence in works:
            for work in sentence.values():
                work()  # compiles, warms the caches of the processor
        for _ in range(rounds):
            for sentence in works:
                for name, work in sentence.items():
                    times[name].append(milliseconds(work))
    print(f"{size:5s} BERT          {statistics.median(times['bert']):8.3f} ms a sentence")
    for name, what in (("cold", "EELBERT, cold"), ("warm", "EELBERT, warm")):
        ratios = [own / its for own, its in zip(times[name], times["bert"], strict=True)]
        by_round = [statistics.median(ratios[at : at + len(works)]) for at in range(0, len(ratios), len(works))]
        ratio = f"{statistics.median(ratios):5.2f} x BERT ({min(by_round):.2f} to {max(by_round):.2f})"
        goal = f"; (goal: at most {GOALS[name]}; paper: about 2.3)" if size == "tiny" else ""
        print(f"{size:5s} {what} {statistics.median(times[name]):8.3f} ms a sentence  {ratio}{goal}")
    print(f"{size:5s} memory of {len(memory)} types: {memory.n_bytes:,} bytes; all {ROWS:,}: {_whole(memory):,} bytes")


def _whole(memory: RememberedCodes) -> int:
    """What the codes of a whole vocabulary would take."""
    return round(memory.n_bytes / len(memory) * ROWS)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=("tiny", "mini", "base"), default=("tiny", "mini", "base"))
    parser.add_argument("--rounds", type=int, default=200, help="passes over the ten sentences")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    words = [word for sentence in SENTENCES for word in tokens_of(sentence) if word.isalpha()]
    mean = statistics.mean(map(len, words))
    asked = f"{options.rounds} rounds, {options.threads} threads"
    print(f"{len(SENTENCES)} sentences, mean word length {mean:.1f}, {asked}")
    for size in options.sizes:
        measure(size, options.rounds)


if __name__ == "__main__":
    main()
