"""Claims decided on an experiment's own results: every part with its difference, interval and what it stands on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hashbench.results.claims.columns import ScoreColumn, TimeColumn
from hashbench.results.claims.expressions import ColumnName, Models, column_names
from hashbench.results.claims.grammar import UNITS, Claim, ClaimPart
from hashbench.results.claims.learned import at_baseline, f1_marks
from hashbench.results.claims.published import COSTS, Unprinted, operations
from hashbench.results.claims.quantities import Quantity, apply, evaluate
from hashbench.results.claims.results import Missing, Results
from hashbench.results.claims.rule import Outcome, comes_free, of_interval, of_point
from hashbench.results.claims.verdicts import QUOTED, About, Decided, Decision

ONE_SEED = "one seed: examples only"
SEEDS_ONLY = "seeds only: no predictions to draw from"
ONE_RUN = "one timed run: efficiency: {repeats: 3} decides"
NO_SPREAD = "one seed and no predictions to draw from"
EITHER_UNIT = "decimal-or-binary"  # tag of a claim on a size
BINARY = {"KB": "KiB", "MB": "MiB"}
DIRECTIONS: dict[Outcome, str] = {
    "holds": "on its examples alone it holds", "fails": "on its examples alone it fails",
    "undecided": "undecided on its examples too",
}  # fmt: skip
ALIKE = "both sides alike in every seed and draw: no spread to decide by"


def decide(claim: Claim, results: Results) -> Decided:
    """The verdict on a claim. What is missing makes it "not measured"; nothing is averaged over fewer tasks.

    A claim on operations is decided of inputs of every counted length; a size of which the paper does not say whether
    its unit is decimal or binary, by both.
    """
    if EITHER_UNIT in claim.tags:
        return _in_either_unit(claim, results)
    counts = any(column.name in COSTS for part in claim.parts for _, column in part.leaves)
    lengths = sorted({length for _, length in operations()}) if counts else [0]
    parts = [_part(claim, part, replace(results, length=length)) for part in claim.parts for length in lengths]
    return Decided(claim, tuple(parts))


def _in_either_unit(claim: Claim, results: Results) -> Decided:
    """The verdict on a size if it is the same in the decimal and in the binary unit; else none, with both numbers."""
    plain = replace(claim, note=claim.note.replace(f"[{EITHER_UNIT}]", ""))
    decimal, binary = decide(plain, results), decide(replace(plain, unit=BINARY[claim.unit]), results)
    if decimal.outcome == binary.outcome:
        return replace(decimal, claim=claim)
    read = {claim.unit: decimal, BINARY[claim.unit]: binary}
    mark = "; ".join(f"read as {unit} it is {each.shown.value:.3f} and {each.outcome}" for unit, each in read.items())
    return Decided(claim, tuple(replace(part, outcome="undecided", marks=(mark,)) for part in decimal.parts))


def _part(claim: Claim, part: ClaimPart, results: Results) -> Decision:
    words = str(part) + (f", length {results.length}" if results.length else "")
    about = _about(claim, part, results)
    try:
        return replace(_decided(claim, part, results), part=words, about=about)
    except (Missing, Unprinted) as error:
        return Decision("not measured", words, missing=_missing(part, results) or (str(error),), about=about)


def _about(claim: Claim, part: ClaimPart, results: Results) -> About:
    """What a part compares, by its columns; where these cannot be read, by what the claim asks for."""
    try:
        known = [results.meaning(column) for column in column_names(part.column)]
    except Missing:
        return "counts" if claim.counts_only else "times" if "timing=" in claim.needs else "scores"
    if any(isinstance(each, ScoreColumn) for each in known):
        return "scores"
    return "times" if any(isinstance(each, TimeColumn) for each in known) else "counts"


def _missing(part: ClaimPart, results: Results) -> tuple[str, ...]:
    """Every number that a part lacks, not only what was met first."""
    reasons: dict[str, None] = {}
    for slug, column in part.leaves:
        try:
            results.leaf(slug, column, results.seeds(slug, column) or frozenset())
        except (Missing, Unprinted) as error:
            reasons[str(error)] = None
    return tuple(reasons)


def _decided(claim: Claim, part: ClaimPart, results: Results) -> Decision:
    """The verdict on a part. Raises Missing."""
    _check_measures(claim, part, results)
    seeds = _matched_seeds(part, results)
    _check_alike(part, results, seeds, one_corpus="corpus=one" in claim.needs)

    def leaf(slug: str, column: ColumnName) -> Quantity:
        return results.leaf(slug, column, seeds)

    def side(models: Models) -> Quantity:
        return evaluate(models, part.column, leaf, scale=claim.scale)

    left = side(part.left)
    right = Quantity(claim.scale * (claim.expected or 0.0)) if part.right is None else side(part.right)
    ratio = part.kind == "ratio_at_least"
    quantity = apply(_log_ratio if ratio else lambda a, b: (a - b) / claim.scale, [left, right])
    if quantity.fixed:
        value = math.exp(quantity.value) if ratio else quantity.value
        shown = left.value / claim.scale if part.kind == "count" else value
        return Decision(of_point(part.kind, value, claim.bound), value=shown)
    timed = any(isinstance(results.meaning(column), TimeColumn) for _, column in part.leaves)
    decision = _from_interval(claim, part, quantity, timed=timed)
    if decision.low is not None and _about(claim, part, results) == "scores":
        decision = _as_far_as_learned(claim, part, results, decision, seeds)
    quoted = [slug for slug in part.slugs if results.is_quoted(slug)]
    return replace(decision, marks=(*decision.marks, QUOTED + ", ".join(quoted))) if quoted else decision


def _as_far_as_learned(
    claim: Claim, part: ClaimPart, results: Results, decision: Decision, seeds: frozenset[int]
) -> Decision:
    """A verdict on scores as it stands: none where nothing was learned, nor with one seed unless that is asked for."""
    marks = (*decision.marks, *f1_marks(part, results))
    if why := at_baseline(part, results, seeds, every_side=comes_free(part.kind, claim.bound)):
        return replace(decision, outcome="undecided", because="at the baseline", marks=(why, *marks))
    if len(decision.seeds) > 1:
        return replace(decision, marks=marks)
    if results.one_seed:
        return replace(decision, because="one seed", marks=marks)
    direction = f"{ONE_SEED}; {DIRECTIONS[decision.outcome]}"
    marks = tuple(direction if mark == ONE_SEED else mark for mark in marks)
    return replace(decision, outcome="undecided", because="one seed", marks=marks)


def _log_ratio(left: float, right: float) -> float:
    return np.log(left) - np.log(right)


def _from_interval(claim: Claim, part: ClaimPart, quantity: Quantity, *, timed: bool) -> Decision:
    """The verdict of the interval over seeds and examples. TimeColumn runs stand in the place of seeds."""
    by_seed = quantity.by_seed or {}
    estimate = quantity.estimate()
    value, low, high = (
        math.exp(number) if part.kind == "ratio_at_least" else number
        for number in (estimate.value, estimate.low, estimate.high)
    )
    marks = _marks(len(by_seed), quantity, timed)
    defined = not math.isnan(quantity.value)
    if not defined:
        marks.append("undefined: a ratio of values that are not above 0")
    known = defined and not math.isnan(low)
    outcome = of_interval(part.kind, low, high, bound=claim.bound) if known else "undecided"
    if known and part.kind in ("greater", "interaction") and low == high == 0:
        outcome = "undecided"
        marks.append(ALIKE)
    return Decision(
        outcome, value=value if defined else None, low=low if known else None, high=high if known else None,
        seeds=tuple(sorted(by_seed)), n_examples=estimate.n_examples, tasks=tuple(quantity.n_examples),
        marks=tuple(marks), timed=timed,
    )  # fmt: skip


def _marks(n_seeds: int, quantity: Quantity, timed: bool) -> list[str]:
    if timed:
        return [ONE_RUN] if n_seeds < 2 else []
    if quantity.by_draw is None:
        return [SEEDS_ONLY if n_seeds > 1 else NO_SPREAD]
    return [ONE_SEED] if n_seeds < 2 else []


def _check_measures(claim: Claim, part: ClaimPart, results: Results) -> None:
    """That the claim's unit measures what its column does; only a ratio has none. Raises Missing."""
    if claim.measure == "x" and (part.kind == "ratio_at_least" or "/" in str(part.left)):
        return
    for column in column_names(part.column):
        measure = results.meaning(column).measure
        if measure != claim.measure:
            allowed = [unit for unit, (measured, _) in UNITS.items() if measured == measure]
            raise Missing(f"column {column} is in {' or '.join(allowed)}, not in {claim.unit}")


def _matched_seeds(part: ClaimPart, results: Results) -> frozenset[int]:
    """The seeds that every model has in every column. Raises Missing where there is none."""
    sets = [results.seeds(slug, column) for slug, column in part.leaves]
    known = [seeds for seeds in sets if seeds is not None]
    matched = frozenset.intersection(*known) if known else frozenset()
    if known and not matched:
        raise Missing(f"no seed in common: {', '.join(part.slugs)}")
    return matched


def _check_alike(part: ClaimPart, results: Results, seeds: frozenset[int], *, one_corpus: bool) -> None:
    """That all sides were measured on the same data and examples, and pre-trained on one corpus if asked for.

    Raises Missing.
    """
    first: dict[str, tuple[str, tuple[object, ...]]] = {}
    for slug, column in part.leaves:
        for sample in results.samples(slug, column):
            examples = {stored.index_fingerprint for seed, stored in sample.stored.items() if seed in seeds}
            precision = {run.precision for run in sample.entry.of_task(sample.task) if run.state == "done"}
            basis = (sample.data, tuple(sorted(examples)) if sample.stored else (), tuple(sorted(precision)))
            model, known = first.setdefault(sample.task, (sample.entry.model, basis))
            if known != basis:
                what = "on other data of" if known[:2] != basis[:2] else "in other precisions on"
                raise Missing(f"{sample.entry.model} and {model} were measured {what} {sample.task}")
    if one_corpus:
        _check_corpora(part, results)


def _check_corpora(part: ClaimPart, results: Results) -> None:
    corpora: dict[str, str] = {}
    for run in results.measured.pretrainings():
        if run.model in part.slugs:
            corpus = run.spec["corpus"]
            names = " and ".join(f"{each['name']} {each['fingerprint'][:8]}" for each in corpus["corpora"])
            first = f", first {corpus['max_documents']:,} documents" if corpus["max_documents"] else ""
            corpora[run.model] = names + first
    if len(set(corpora.values())) > 1:
        listed = "; ".join(f"{model} on {text}" for model, text in corpora.items())
        raise Missing(f"pre-trained on different corpora: {listed}")
