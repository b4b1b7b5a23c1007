"""Claims decided on an experiment's own results: every part with its difference, interval and what it stands on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hashbench.claims.columns import Scored, Timed
from hashbench.claims.expressions import Model, Models, compute, scores, slugs, terms
from hashbench.claims.grammar import UNITS, Claim, Part
from hashbench.claims.published import COSTS, Unprinted
from hashbench.claims.quantities import Quantity, apply, constant
from hashbench.claims.results import Missing, Results
from hashbench.claims.rule import Outcome, all_of, comes_free, of_interval, of_point
from hashbench.statistics.estimates import Estimate, combine

LENGTHS = (16, 32, 64, 128, 256, 512)  # of inputs whose operations are counted
ONE_SEED = "one seed: examples only"
SEEDS_ONLY = "seeds only: no predictions to draw from"
ONE_RUN = "one timed run: repeated ones decide"
NO_SPREAD = "one seed and no predictions to draw from"
AT_FLOOR = "at the floor"
ALIKE = "both sides alike in every seed and draw: no spread to decide by"
QUOTED = "[quoted] as the paper prints it: "


@dataclass(frozen=True)
class Decision:
    """The verdict on one part. `value` is L - R in the claim's unit, L / R of a ratio, L of a count."""

    part: str
    outcome: Outcome
    value: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: tuple[int, ...] = ()
    n_examples: int = 0
    tasks: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # how the verdict is to be read
    missing: tuple[str, ...] = ()  # why there is none
    timed: bool = False  # `seeds` are then repeated runs

    @property
    def exact(self) -> bool:
        """Whether it compares numbers that nothing varies."""
        return self.value is not None and self.low is None and self.outcome in ("holds", "fails")


@dataclass(frozen=True)
class Decided:
    """A claim with the verdicts on its parts."""

    claim: Claim
    parts: tuple[Decision, ...]

    @property
    def outcome(self) -> Outcome:
        """All hold, one fails, else undecided; one that is not measured: not measured."""
        return all_of([part.outcome for part in self.parts])

    @property
    def shown(self) -> Decision:
        """The part that the verdict hangs on: of those with the verdict, the nearest to failing."""
        return min((part for part in self.parts if part.outcome == self.outcome), key=self._margin)

    def _margin(self, part: Decision) -> float:
        if part.value is None:
            return math.inf
        return -abs(part.value) if self.claim.kind == "equal_within" else part.value

    @property
    def marks(self) -> tuple[str, ...]:
        """How the verdict is to be read, of all parts."""
        found = dict.fromkeys(mark for part in self.parts for mark in part.marks)
        quoted = [mark.removeprefix(QUOTED) for mark in found if mark.startswith(QUOTED)]
        together = (QUOTED + ", ".join(quoted),) if quoted else ()
        return tuple(mark for mark in found if not mark.startswith(QUOTED)) + together

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing, of all parts."""
        return tuple(dict.fromkeys(why for part in self.parts for why in part.missing))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the part that is shown."""
        return self.shown.seeds


def decide(claim: Claim, results: Results) -> Decided:
    """The verdict on a claim. What is missing makes it "not measured"; nothing is averaged over fewer tasks."""
    lengths = LENGTHS if any(score.name in COSTS for part in claim.parts for score in scores(part.column)) else (0,)
    parts = [_part(claim, part, replace(results, length=length)) for part in claim.parts for length in lengths]
    return Decided(claim, tuple(parts))


def _part(claim: Claim, part: Part, results: Results) -> Decision:
    words = str(part) + (f", length {results.length}" if results.length else "")
    try:
        return _decided(claim, part, results, words)
    except (Missing, Unprinted):
        return Decision(words, "not measured", missing=tuple(_missing(claim, part, results)))


def _missing(claim: Claim, part: Part, results: Results) -> list[str]:
    """Everything that a part lacks, not only what was met first."""
    found: list[str] = []
    for slug in _slugs(part):
        for score in scores(part.column):
            try:
                seeds = results.seeds(slug, score)
                results.leaf(slug, score, seeds or frozenset())
            except (Missing, Unprinted) as error:
                found.append(str(error))
    if not found:
        try:
            _decided(claim, part, results, "")
        except (Missing, Unprinted) as error:
            found.append(str(error))
    return list(dict.fromkeys(found))


def _slugs(part: Part) -> list[str]:
    sides = [side for side in (part.left, part.right) if side is not None]
    return list(dict.fromkeys(slug for side in sides for slug in slugs(side)))


def _decided(claim: Claim, part: Part, results: Results, words: str) -> Decision:
    """The verdict on a part. Raises Missing."""
    _check_measures(claim, part, results)
    seeds = _matched_seeds(part, results)
    _check_alike(claim, part, results, seeds)

    def side(models: Models) -> Quantity:
        return compute(
            models, part.column, leaf=lambda slug, score: results.leaf(slug, score, seeds),
            constant=lambda value: constant(value * claim.scale), apply=apply,
        )  # fmt: skip

    left = side(part.left)
    right = constant(claim.scale * (claim.expected or 0.0)) if part.right is None else side(part.right)
    ratio = part.kind == "ratio_at_least"
    quantity = apply(_log_ratio if ratio else lambda a, b: (a - b) / claim.scale, [left, right])
    shown = left.value / claim.scale if part.kind == "count" else quantity.value
    if quantity.fixed:
        value = math.exp(quantity.value) if ratio else quantity.value
        outcome = of_point(part.kind, value, claim.bound)
        return Decision(words, outcome, value if part.kind != "count" else shown)
    decision = _from_interval(claim, part, quantity, words, timed=_is_timed(part, results))
    decidable = decision.low is not None
    if decidable and comes_free(part.kind, claim.bound) and (why := _at_floor(part, results, seeds)):
        decision = replace(decision, outcome="undecided", marks=(*decision.marks, why))
    quoted = [slug for slug in _slugs(part) if results.is_quoted(slug)]
    if quoted:
        decision = replace(decision, marks=(*decision.marks, QUOTED + ", ".join(quoted)))
    return decision


def _log_ratio(left: float, right: float) -> float:
    return np.log(left) - np.log(right)


def _from_interval(claim: Claim, part: Part, quantity: Quantity, words: str, *, timed: bool) -> Decision:
    """The verdict of the interval over seeds and examples. Timed runs stand in the place of seeds."""
    by_seed = quantity.by_seed or {}
    n = sum(quantity.n_examples.values())
    estimate = combine(quantity.value, list(by_seed.values()), quantity.by_draw, n_examples=n)
    if part.kind == "ratio_at_least":
        estimate = _exponential(estimate)
    marks = _marks(len(by_seed), quantity, timed)
    if math.isnan(quantity.value):
        marks = [*marks, "undefined: a ratio of values that are not above 0"]
    known = not math.isnan(estimate.low) and not math.isnan(quantity.value)
    outcome = of_interval(part.kind, estimate.low, estimate.high, claim.bound) if known else "undecided"
    if known and part.kind in ("greater", "interaction") and estimate.low == estimate.high == 0:
        outcome, marks = "undecided", [*marks, ALIKE]
    return Decision(
        words,
        outcome,
        None if math.isnan(quantity.value) else estimate.value,
        estimate.low if known else None,
        estimate.high if known else None,
        tuple(sorted(by_seed)),
        n,
        tuple(quantity.n_examples),
        tuple(marks),
        timed=timed,
    )


def _exponential(estimate: Estimate) -> Estimate:
    """An interval of logarithms as one of ratios."""
    value, low, high = (math.exp(one) for one in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def _marks(n_seeds: int, quantity: Quantity, timed: bool) -> list[str]:
    if timed:
        return [ONE_RUN] if n_seeds < 2 else []
    if quantity.by_draw is None:
        return [SEEDS_ONLY if n_seeds > 1 else NO_SPREAD]
    return [ONE_SEED] if n_seeds < 2 else []


def _is_timed(part: Part, results: Results) -> bool:
    return any(isinstance(results.meaning(score), Timed) for score in scores(part.column))


def _check_measures(claim: Claim, part: Part, results: Results) -> None:
    """That the claim's unit measures what its column does; only a ratio has none. Raises Missing."""
    if claim.measure == "x" and (part.kind == "ratio_at_least" or "/" in str(part.left)):
        return
    for score in scores(part.column):
        measure = results.meaning(score).measure
        if measure != claim.measure:
            allowed = [unit for unit, (of, _) in UNITS.items() if of == measure]
            raise Missing(f"column {score} is in {' or '.join(allowed)}, not in {claim.unit}")


def _matched_seeds(part: Part, results: Results) -> frozenset[int]:
    """The seeds that every model has in every column. Raises Missing where there is none."""
    sets = [results.seeds(slug, score) for slug in _slugs(part) for score in scores(part.column)]
    known = [one for one in sets if one is not None]
    if not known:
        return frozenset()
    matched = frozenset.intersection(*known)
    if not matched:
        raise Missing(f"no seed in common: {', '.join(_slugs(part))}")
    return matched


def _check_alike(claim: Claim, part: Part, results: Results, seeds: frozenset[int]) -> None:
    """That all sides were measured on the same data and examples, and pre-trained on one corpus if asked for.

    Raises Missing.
    """
    first: dict[str, tuple[str, tuple[object, ...]]] = {}
    for slug in _slugs(part):
        for score in scores(part.column):
            for sample in results.samples(slug, score):
                examples = {one.index_fingerprint for seed, one in sample.stored.items() if seed in seeds}
                precision = {run.precision for run in sample.entry.of_task(sample.task) if run.state == "done"}
                found = (sample.data, tuple(sorted(examples)) if sample.stored else (), tuple(sorted(precision)))
                known = first.setdefault(sample.task, (sample.entry.model, found))
                if known[1] != found:
                    raise Missing(f"{sample.entry.model} and {known[0]} were measured on other data of {sample.task}")
    if "corpus=one" in claim.needs:
        _check_corpora(part, results)


def _check_corpora(part: Part, results: Results) -> None:
    found: dict[str, str] = {}
    for run in results.measured.runs:
        if run.kind == "pretrain" and run.model in _slugs(part):
            corpus = run.spec["corpus"]
            text = " and ".join(f"{one['name']} {one['fingerprint'][:8]}" for one in corpus["corpora"])
            first = f", first {corpus['max_documents']:,} documents" if corpus["max_documents"] else ""
            found[run.model] = text + first
    if len(set(found.values())) > 1:
        said = "; ".join(f"{model} on {text}" for model, text in found.items())
        raise Missing(f"pre-trained on different corpora: {said}")


def _at_floor(part: Part, results: Results, seeds: frozenset[int]) -> str:
    """Why a claim that comes free to untrained models is not decided: a side that does not beat the floor; '' else."""
    if not all(isinstance(results.meaning(score), Scored) for score in scores(part.column)):
        return ""
    trained = [
        term
        for side in (part.left, part.right)
        if side is not None
        for term in terms(side)
        if any(not results.is_quoted(slug) for slug in slugs(term))
    ]
    try:
        for term in trained:
            above = _above_floor(term, part, results, seeds)
            if not above.low > 0:
                return f"{AT_FLOOR}: {term} is {above.value:+.1f} [{above.low:.1f}, {above.high:.1f}] above it"
    except Missing as error:
        return f"{AT_FLOOR}, for all that is known: {error}"
    return ""


def _above_floor(term: Models, part: Part, results: Results, seeds: frozenset[int]) -> Estimate:
    """How far a side is above the floor, in percent. Raises Missing where no floor was measured."""
    ours = compute(
        term, part.column, leaf=lambda slug, score: results.leaf(slug, score, seeds), constant=constant, apply=apply
    )
    floor = compute(
        Model("floor"), part.column, leaf=lambda _, score: results.floor(score, seeds), constant=constant, apply=apply
    )
    above = apply(lambda a, b: a - b, [ours, floor])
    return combine(above.value, list((above.by_seed or {}).values()), above.by_draw)
