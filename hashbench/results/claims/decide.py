"""Verdicts on an experiment's own results: every part of a claim with its difference, interval, seeds and examples.

Scores decide a claim only where the compared models learned something: the rule of claims.md on constant predictions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hashbench.common.showing import decimal_text, percent_text
from hashbench.results.claims.claim import UNITS, Claim, ClaimPart, Outcome
from hashbench.results.claims.columns import COSTS, ScoreColumn, TimeColumn, operations
from hashbench.results.claims.grammar import Columns, Missing, Pair, Term, column_names, evaluate, slugs, text_of
from hashbench.results.claims.results import CONSTANT, Results
from hashbench.results.claims.verdicts import (
    NOT_ABOVE,
    NOTHING_LEARNED,
    QUOTED,
    About,
    Decided,
    Decision,
    Worth,
)
from hashbench.results.read.doubts import share_lost, unequal_note
from hashbench.results.read.evidence import Matched
from hashbench.results.read.measured import hollow_accuracy
from hashbench.scores.draws import Estimate
from hashbench.scores.quantity import Quantity, apply, difference

ONE_SEED = "one seed: examples only"
SEEDS_ONLY = "seeds only: no predictions to draw from"
ONE_RUN = "one timed run: efficiency: {repeats: 3} decides"
NO_SPREAD = "one seed and no predictions to draw from"
NO_DIFFERENCE = "both sides alike in every seed and draw: no spread to decide by"
EITHER_UNIT = "decimal-or-binary"  # tag of a claim on a size
BINARY = {"KB": "KiB", "MB": "MiB"}
DIRECTIONS: dict[Outcome, str] = {
    "holds": "on its examples alone it holds", "fails": "on its examples alone it fails",
    "undecided": "undecided on its examples too",
}  # fmt: skip


def decide(claim: Claim, results: Results) -> Decided:
    """The verdict on a claim. What is missing makes it "not measured"; nothing is averaged over fewer tasks.

    A claim on operations is decided for inputs of every counted length; a claim on a size in decimal and in binary
    units if the paper does not say which it means.
    """
    if EITHER_UNIT in claim.tags:
        return _in_either_unit(claim, results)
    counts = any(column.name in COSTS for part in claim.parts for _, column in part.leaves)
    lengths = sorted({length for _, length in operations()}) if counts else [0]
    parts = [_part(claim, part, replace(results, length=length)) for part in claim.parts for length in lengths]
    return Decided(claim, tuple(parts))


def _in_either_unit(claim: Claim, results: Results) -> Decided:
    """The verdict on a size if decimal and binary units give the same one, else undecided with both numbers."""
    plain = replace(claim, note=claim.note.replace(f"[{EITHER_UNIT}]", ""))
    decimal, binary = decide(plain, results), decide(replace(plain, unit=BINARY[claim.unit]), results)
    if decimal.outcome == binary.outcome:
        return replace(decimal, claim=claim)
    read = {claim.unit: decimal, BINARY[claim.unit]: binary}
    values = {unit: decimal_text(by.shown.value or 0.0, 3) for unit, by in read.items()}
    mark = "; ".join(f"read as {unit} it is {values[unit]} and {read[unit].outcome}" for unit in read)
    return Decided(claim, tuple(replace(part, outcome="undecided", marks=(mark,)) for part in decimal.parts))


def _part(claim: Claim, part: ClaimPart, results: Results) -> Decision:
    words = str(part) + (f", length {results.length}" if results.length else "")
    about = _about(claim, part, results)
    try:
        return replace(_decided(claim, part, results), part=words, about=about)
    except Missing as error:
        return Decision("not measured", words, missing=_missing(part, results) or (str(error),), about=about)


def _about(claim: Claim, part: ClaimPart, results: Results) -> About:
    """The kind of number that a part compares, from its columns, or from the claim's `needs` if they cannot be read."""
    try:
        columns = [results.meaning(column) for column in column_names(part.column)]
    except Missing:
        return "counts" if claim.counts_only else "times" if "timing=" in claim.needs else "scores"
    if any(isinstance(column, ScoreColumn) for column in columns):
        return "scores"
    return "times" if any(isinstance(column, TimeColumn) for column in columns) else "counts"


def _missing(part: ClaimPart, results: Results) -> tuple[str, ...]:
    """The reasons for all numbers that a part lacks, not only for the first."""
    reasons: dict[str, None] = {}
    for slug, column in part.leaves:
        try:
            replace(results, matched=Matched.of(results.samples(slug, column))).leaf(slug, column)
        except Missing as error:
            reasons[str(error)] = None
    return tuple(reasons)


def _decided(claim: Claim, part: ClaimPart, results: Results) -> Decision:
    """The verdict on one part of a claim. Raises Missing where a number is lacking or the sides are not comparable."""
    _check_measures(claim, part, results)
    results = replace(results, matched=_matched(part, results))
    _check_comparable(part, results, one_corpus="corpus=one" in claim.needs)
    left = evaluate(part.left, part.column, results.leaf, scale=claim.scale)
    right = Quantity(claim.scale * (claim.expected or 0.0))
    if part.right is not None:
        right = evaluate(part.right, part.column, results.leaf, scale=claim.scale)
    ratio = part.kind.is_ratio
    quantity = apply(_log_ratio if ratio else lambda a, b: (a - b) / claim.scale, [left, right])
    if quantity.fixed:
        value = math.exp(quantity.value) if ratio else quantity.value
        shown = left.value / claim.scale if part.right is None else value
        return Decision(part.kind.of_point(value, claim.bound), value=shown)
    timed = any(isinstance(results.meaning(column), TimeColumn) for _, column in part.leaves)
    decision = _from_interval(claim, part, quantity, timed=timed)
    seeds = {seed for of_task in results.matched.seeds.values() for seed in of_task if seed is not None}
    decision = replace(decision, n_trainings=len(seeds))
    if decision.low is not None and _about(claim, part, results) == "scores":
        decision = _as_far_as_learned(claim, part, results, decision)
    quoted = [slug for slug in part.slugs if results.is_quoted(slug)]
    return replace(decision, marks=(*decision.marks, QUOTED + ", ".join(quoted))) if quoted else decision


def _log_ratio(left: float, right: float) -> float:
    return np.log(left) - np.log(right)


def _as_far_as_learned(claim: Claim, part: ClaimPart, results: Results, decision: Decision) -> Decision:
    """The decision on scores, undecided if models learned nothing, or for one seed unless the request allows that."""
    marks = (*decision.marks, *_f1_marks(part, results), *_text_marks(part, results), *_one_pretraining(part, results))
    every_side = part.kind.comes_free(claim.bound)
    worth, beside = _worth(part, results, every_side=every_side)
    marks += (beside,) if beside else ()
    decision = replace(decision, above_trivial=worth)
    if why := _nothing_learned(part, results, every_side=every_side):
        return replace(decision, outcome="undecided", because="nothing learned", marks=(why, *marks))
    if len(decision.seeds) > 1:
        return replace(decision, marks=marks)
    if results.one_seed:
        return replace(decision, because="one seed", marks=marks)
    direction = f"{ONE_SEED}; {DIRECTIONS[decision.outcome]}"
    marks = tuple(direction if mark == ONE_SEED else mark for mark in marks)
    return replace(decision, outcome="undecided", because="one seed", marks=marks)


def _from_interval(claim: Claim, part: ClaimPart, quantity: Quantity, *, timed: bool) -> Decision:
    """The decision from a quantity's interval over seeds and examples, or for times over repeated runs."""
    estimate = quantity.estimate()
    value, low, high = (
        math.exp(number) if part.kind.is_ratio else number for number in (estimate.value, estimate.low, estimate.high)
    )
    several = min(quantity.units, default=0) > 1
    if timed:
        marks = [] if several else [ONE_RUN]
    elif quantity.by_draw is None:
        marks = [SEEDS_ONLY if several else NO_SPREAD]
    else:
        marks = [] if several else [ONE_SEED]
    if estimate.undefined:
        marks.append(f"{percent_text(estimate.undefined)} % of the draws have no value and are left out")
    defined = not math.isnan(quantity.value)
    if not defined:
        marks.append("undefined: a ratio of values that are not above 0")
    bounded = defined and not math.isnan(low)
    outcome = part.kind.of_interval(low, high, bound=claim.bound) if bounded else "undecided"
    if bounded and not part.kind.has_bound and low == high == 0:
        outcome = "undecided"
        marks.append(NO_DIFFERENCE)
    chance = quantity.uncertain.chance(part.kind.margin(quantity.value, claim.bound)) if bounded else None
    return Decision(
        outcome, value=value if defined else None, low=low if bounded else None, high=high if bounded else None,
        seeds=_units_of(quantity), n_examples=estimate.n_examples, tasks=tuple(quantity.n_examples),
        marks=tuple(marks), timed=timed, chance=chance,
    )  # fmt: skip


def _units_of(quantity: Quantity) -> tuple[int | str, ...]:
    """The units of the model with the fewest, which the interval rests on."""
    fewest = min(quantity.without.values(), key=len, default={})
    named = [unit for unit in fewest if unit is not None]
    return tuple(sorted(named, key=lambda unit: (isinstance(unit, str), unit)))


def _check_measures(claim: Claim, part: ClaimPart, results: Results) -> None:
    """Raises Missing if the claim's unit does not fit its columns. A ratio has no unit and fits all."""
    if claim.measure == "x" and (part.kind.is_ratio or isinstance(part.left, Pair) and part.left.operator == "/"):
        return
    for column in column_names(part.column):
        measure = results.meaning(column).measure
        if measure != claim.measure:
            allowed = [unit for unit, (measured, _) in UNITS.items() if measured == measure]
            raise Missing(f"column {column} is in {' or '.join(allowed)}, not in {claim.unit}")


def _matched(part: ClaimPart, results: Results) -> Matched:
    """The seeds and units that all models have in all columns. Raises Missing where there is none."""
    samples = [sample for slug, column in part.leaves for sample in results.samples(slug, column)]
    matched = Matched.of(samples)
    if matched.lacking(samples):
        raise Missing(f"no seed in common: {', '.join(part.slugs)}")
    return matched


def _check_comparable(part: ClaimPart, results: Results, *, one_corpus: bool) -> None:
    """Raises Missing unless all sides were measured on the same data and examples at one precision.

    `one_corpus`: also unless they were pre-trained on one corpus, which the claim needs.
    """
    first: dict[tuple[str, str], tuple[str, object]] = {}  # by what must be equal and task: a model and what it has
    for slug, column in part.leaves:
        for sample in results.samples(slug, column):
            seeds = results.matched.seeds[sample.task]
            read = {seed: of for seed, of in sample.stored.items() if sample.is_fixed or seed in seeds}
            examples = {of.index_fingerprint for of in read.values()}
            bases: dict[str, object] = {"on other data of": (sample.data, examples if sample.stored else set())}
            done = {run.precision for run in sample.entry.of_task(sample.task) if run.state == "done"} - {""}
            if done:  # a trivial baseline has none
                bases["in other precisions on"] = done
            for what, basis in bases.items():
                model, expected = first.setdefault((what, sample.task), (sample.entry.model, basis))
                if expected != basis:
                    raise Missing(f"{sample.entry.model} and {model} were measured {what} {sample.task}")
    corpora: dict[str, str] = {}
    named = set(part.slugs)
    for run in results.measured.pretrainings() if one_corpus else ():
        if run.model in named:
            spec = run.spec["corpus"]
            names = " and ".join(f"{corpus['name']} {corpus['fingerprint'][:8]}" for corpus in spec["corpora"])
            limit = f", first {spec['max_documents']:,} documents" if spec["max_documents"] else ""
            corpora[run.model] = names + limit
    if len(set(corpora.values())) > 1:
        listed = "; ".join(f"{model} on {text}" for model, text in corpora.items())
        raise Missing(f"pre-trained on different corpora: {listed}")


def _nothing_learned(part: ClaimPart, results: Results, *, every_side: bool) -> str:
    """The reason that a part is undecided: a side whose interval is not above the best constant prediction; else ''.

    The better side of each comparison is looked at, or both (`every_side`), by the quantity of the claim: an average
    against the average of the constants; for a difference of columns each column by itself.
    """
    try:
        for side, column, value in _sides(part, results, every_side=every_side):
            above = difference(value, evaluate(CONSTANT, column, results.constant)).estimate()
            if not above.low > 0:
                return f"{NOTHING_LEARNED}: on {column} {text_of(side)} minus {CONSTANT} is {_interval(above)}"
    except Missing as error:
        return f"{NOTHING_LEARNED}, for all that is known: {error}"
    return ""


def _worth(part: ClaimPart, results: Results, *, every_side: bool) -> tuple[Worth, str]:
    """(yes, no or unknown; a sentence if no): are the sides that must have learned above the best trivial baseline?

    It decides no claim: whether one model is above another is another question than whether it is worth its price.
    """
    try:
        for side, column, value in _sides(part, results, every_side=every_side):
            name = results.floor_name(column)
            if side == name:  # a trivial baseline, which is not compared with itself
                return "", ""
            above = difference(value, evaluate(name, column, results.floor)).estimate()
            if not above.low > 0:
                return "no", f"{NOT_ABOVE}{name}: on {column} {text_of(side)} minus {name} is {_interval(above)}"
    except Missing:
        return "", ""
    return "yes", ""


def _sides(part: ClaimPart, results: Results, *, every_side: bool) -> Iterator[tuple[Term, Columns, Quantity]]:
    """The sides that must have learned, each with the column and its value there."""
    columns = column_names(part.column) if isinstance(part.column, Pair) else (part.column,)
    for sides in _comparisons(part, results):
        for column in columns:
            values = {side: evaluate(side, column, results.leaf) for side in sides}
            for side in sides if every_side else [max(sides, key=lambda side: values[side].value)]:
                yield side, column, values[side]


def _comparisons(part: ClaimPart, results: Results) -> Iterator[list[Term]]:
    """The terms that a part compares with each other, one list per comparison, without models only quoted by the paper.

    A difference of differences gives one list for each difference.
    """
    sides = [side for side in (part.left, part.right) if side is not None]
    pairs = [[side.left, side.right] for side in sides if isinstance(side, Pair)]
    plain = [side for side in sides if not isinstance(side, Pair)]
    for compared in [*pairs, plain]:
        trained = [term for term in compared if any(not results.is_quoted(slug) for slug in slugs(term))]
        if trained:
            yield trained


def _interval(estimate: Estimate) -> str:
    return f"{_signed(estimate.value)} [{_signed(estimate.low)}, {_signed(estimate.high)}]"


def _signed(value: float) -> str:
    return decimal_text(value, 1, "+")


def _one_pretraining(part: ClaimPart, results: Results) -> list[str]:
    """A remark on models with a single pre-training in the experiment: their seeds are fine-tunings of it."""
    models = {results.variant(slug)[0] for slug in part.slugs if not results.is_quoted(slug)}
    named = [model for model in sorted(models) if results.measured.pretrainings_of.get(model) == 1]
    return [f"of one pre-training each: {', '.join(named)}"] if named else []


def _text_marks(part: ClaimPart, results: Results) -> list[str]:
    """Remarks on tasks where the compared models did not read the same share of the texts."""
    lost: dict[tuple[str, str], dict[str, float]] = {}
    for slug, column in part.leaves:
        meaning = results.meaning(column)
        for score in meaning.scores if isinstance(meaning, ScoreColumn) and not results.is_quoted(slug) else ():
            runs = results.entry(results.variant(slug)[0]).of_task(score.task)
            if (share := share_lost(runs, score.split)) is not None:
                lost.setdefault((score.task, score.split), {})[slug] = share
    marks = []
    for (task, _), by_slug in lost.items():
        least, most = (extreme(by_slug.items(), key=lambda item: item[1]) for extreme in (min, max))
        marks += [note] if (note := unequal_note(least, most, task)) else []
    return list(dict.fromkeys(marks))


def _f1_marks(part: ClaimPart, results: Results) -> list[str]:
    """Remarks on averages that count the F1 of a model whose accuracy is below the majority class."""
    marks: dict[str, None] = {}
    for slug, column in part.leaves:
        meaning = results.meaning(column)
        if not isinstance(meaning, ScoreColumn) or len(meaning.scores) < 2 or results.is_quoted(slug):
            continue
        entry = results.entry(results.variant(slug)[0])
        for score in meaning.scores:
            below = hollow_accuracy(results.measured, entry, score.task, score.metric, score.split)
            if below:
                accuracy, majority = map(percent_text, below)
                marks[f"the average counts F1 on {score.task} of {slug}, whose accuracy of {accuracy} is below the "
                      f"majority class ({majority})"] = None  # fmt: skip
    return list(marks)
