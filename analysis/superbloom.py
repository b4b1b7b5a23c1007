"""Superbloom's claims on a page-link set: differences between models with intervals over pages, from stored ranks.

    python -m analysis.superbloom --db results.db --experiment superbloom_entities_tiny
    python -m analysis.superbloom --db results.db --compare mine plain-d40-l2

A difference is between the means over training seeds on the same cases; its 95 % interval resamples the test pages
(10,000 draws). "holds": the whole interval lies on the side that the paper says; "fails": on the other; else "open".
It says nothing of other hash seeds or page sets. Claims whose models the experiment has not are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hashbench.errors import InputError
from hashbench.retrieval import PAGE, TENTHS, Difference, page_bootstrap, per_case, tenths
from hashbench.store.engine import Store, open_store
from hashbench.store.status import find_experiment, predictions, runs

METRICS = ("rec@1", "rec@20")
CONFIDENCE = 0.95
Outputs = Mapping[str, Sequence[np.ndarray]]  # label -> outputs (n, 3 + m) of each seed, all on the same cases


@dataclass(frozen=True)
class Claim:
    """A sum of models' means that the paper says is above (or below) zero."""

    name: str
    plus: tuple[str, ...]
    minus: tuple[str, ...]
    metrics: tuple[str, ...] = METRICS
    above: bool = True
    source: str = ""


# Labels of experiments/superbloom_entities_tiny.yaml.
CLAIMS = (
    Claim("hashed above unhashed of equal size", ("a5-l2",), ("plain-d40-l2",), source="table 2"),
    Claim("hashed below unhashed of equal width", ("a5-l2",), ("plain-d64-l2",), above=False, source="table 3"),
    Claim("hashed above sampled softmax", ("a5-l2",), ("sampled-l2",), source="table 2"),
    Claim(
        "two layers gain more over one when hashed", ("a5-l2", "plain-d64-l1"), ("a5-l1", "plain-d64-l2"),
        source="table 3",
    ),
    Claim("two layers above a wider one of equal size", ("a5-l2",), ("a5-wide-l1",), source="table 3"),
    Claim("a coherent map: tokens", ("a5-coherent1-l2",), ("a5-l2",), ("token_rec@1",), source="table 7"),
    Claim("two coherent maps: tokens", ("a5-coherent2-l2",), ("a5-l2",), ("token_rec@1",), source="table 7"),
    Claim("a coherent map: entities", ("a5-coherent1-l2",), ("a5-l2",), ("rec@1",), above=False, source="table 7"),
    Claim("two coherent maps: entities", ("a5-coherent2-l2",), ("a5-l2",), ("rec@1",), above=False, source="table 7"),
    Claim("5 a bucket above 10", ("a5-l2",), ("a10-l2",), source="table 7"),
    Claim("10 a bucket above 20", ("a10-l2",), ("a20-l2",), source="table 7"),
)  # fmt: skip
IN_EVERY_TENTH = Claim("hashed above unhashed of equal size in every tenth", ("a5-l2",), ("plain-d40-l2",), ("rec@1",))


def contrast(outputs: Outputs, claim: Claim, metric: str, cases: np.ndarray | None = None) -> np.ndarray:
    """The claim's sum for each case (n,), means over seeds; `cases` (n,) bool keeps some of them."""
    kept = slice(None) if cases is None else cases
    total: np.ndarray = np.zeros(1)
    for sign, labels in ((1.0, claim.plus), (-1.0, claim.minus)):
        for label in labels:
            total = total + sign * np.mean([per_case(metric, each[kept]) for each in outputs[label]], axis=0)
    return total


def verdict(found: Difference, above: bool) -> str:
    """What an interval says of a claim."""
    if found.low <= 0 <= found.high:
        return "open"
    return "holds" if (found.low > 0) == above else "fails"


def lines_of(outputs: Outputs, targets: np.ndarray, claims: Sequence[Claim]) -> list[str]:
    """A line for each claim and metric whose models are there."""
    pages = next(iter(outputs.values()))[0][:, PAGE]
    lines = []
    for claim in claims:
        if all(label in outputs for label in (*claim.plus, *claim.minus)):
            for metric in claim.metrics:
                found = page_bootstrap([contrast(outputs, claim, metric)], pages, confidence=CONFIDENCE)
                name = f"{claim.name} ({claim.source})" if claim.source else claim.name
                lines.append(_line(name, metric, found, claim))
    if all(label in outputs for label in (*IN_EVERY_TENTH.plus, *IN_EVERY_TENTH.minus)):
        lines += tenth_lines(outputs, targets, IN_EVERY_TENTH)
    return lines


def tenth_lines(outputs: Outputs, targets: np.ndarray, claim: Claim) -> list[str]:
    """The claim in each tenth of the cases by frequency; intervals hold for all ten together (Bonferroni)."""
    part, pages = tenths(targets), next(iter(outputs.values()))[0][:, PAGE]
    lines = []
    for tenth in range(TENTHS):
        cases = part == tenth
        confidence = 1 - (1 - CONFIDENCE) / TENTHS
        found = page_bootstrap([contrast(outputs, claim, "rec@1", cases)], pages[cases], confidence=confidence)
        lines.append(_line(f"{claim.name}: {tenth + 1}", "rec@1", found, claim))
    return lines


def _line(name: str, metric: str, found: Difference, claim: Claim) -> str:
    interval = f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"
    return f"{name:64s} {metric:11s} {100 * found.value:+6.2f} {interval:18s} {verdict(found, claim.above)}"


def stored(store: Store, experiment: str | None) -> tuple[Outputs, np.ndarray]:
    """Outputs of all finished trainings by label, and the hidden items. Raises InputError where there are none."""
    found: dict[str, list[np.ndarray]] = {}
    fingerprint, targets = "", np.zeros(0)
    for run in runs(store, find_experiment(store, experiment).id):
        kept = predictions(store, run.run_id, "test", "best") if run.kind == "finetune" else None
        if kept is None:
            continue
        if fingerprint and kept.index_fingerprint != fingerprint:
            raise InputError(f"{store.name}: runs on different cases; name an --experiment of one page-link set")
        fingerprint, targets = kept.index_fingerprint, kept.targets
        found.setdefault(run.model, []).append(kept.outputs)
    if not found:
        raise InputError(f"{store.name}: no finished training on a page-link set; run hashbench sweep first")
    return found, targets


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line for each claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", default="results.db")
    parser.add_argument("--experiment", help="the one swept last if not given")
    parser.add_argument("--compare", nargs=2, metavar=("MODEL", "OTHER"), help="this difference instead of the claims")
    asked = parser.parse_args(arguments)
    try:
        outputs, targets = stored(open_store(asked.db, create=False, read_only=True), asked.experiment)
        claims: Sequence[Claim] = CLAIMS
        if asked.compare:
            for label in asked.compare:
                if label not in outputs:
                    raise InputError(f"--compare: no finished training of {label!r}; there are: {', '.join(outputs)}")
            claims = [Claim(" - ".join(asked.compare), (asked.compare[0],), (asked.compare[1],))]
        print("\n".join(lines_of(outputs, targets, claims)))
    except InputError as error:
        sys.exit(f"analysis.superbloom: {error}")


if __name__ == "__main__":
    main()
