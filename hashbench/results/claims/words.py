"""A decided claim in words and numbers: the same in every format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from hashbench.results.claims.grammar import Claim
from hashbench.results.claims.rule import MODEL, NOT_HERE, OUTCOMES, Outcome, is_absent_model
from hashbench.results.claims.verdicts import ABOUT, About, Decided, Decision
from hashbench.scores.estimates import CONFIDENCE

Tally = dict[About, dict[Outcome, int]]

FEW = 3  # tasks that are named beside a verdict; all are below
BOUND_OURS = "bound-ours"
SIGNS = {"greater": "> 0", "interaction": "> 0"}
ABOUT_WORDS: dict[About, str] = {
    "scores": "On scores", "counts": "By arithmetic on parameters, bytes and operations", "times": "On times",
}  # fmt: skip
SHORT: dict[About, str] = {"scores": "scores: ", "counts": "arithmetic: ", "times": "times: "}
PLURALS: dict[Outcome, str] = {
    "holds": "hold", "fails": "fail", "undecided": "undecided", "not measured": "not measured"
}  # fmt: skip
READING = (
    "holds: the whole 95 % interval lies on the claimed side; fails: wholly on the other; else undecided. Intervals "
    "are over matched seeds and over examples drawn with replacement, together. Scores are compared only where the "
    "better side is above every trivial baseline by its interval (else: at the baseline), and with two seeds or more: "
    "--one-seed decides one seed on its examples alone, and then speaks of these trained models, not of their methods. "
    "'exact': counts of the models at the paper's size. A verdict speaks of what was measured here: 'fails' refutes "
    "no paper, 'holds' confirms none at its scale."
)


def verdict(found: Decided | Decision) -> str:
    """The verdict as it is printed: 'holds', 'undecided (at the baseline)', 'holds (one seed)'."""
    return found.outcome + (f" ({found.because})" if found.because else "")


def claimed(claim: Claim) -> str:
    """What is claimed of the number that is printed.

    >>> from hashbench.results.claims.published import claims_of
    >>> [claimed(claim) for claim in claims_of("hashformers")[:4]]
    ['> 0 (~: within 0.5)', 'within 4.2', 'within 4.2', 'at least 0']
    """
    if claim.kind in SIGNS:
        return SIGNS[claim.kind]
    if claim.kind == "ordering":
        return f"> 0 (~: within {claim.bound:g})"
    if claim.kind == "equal_within":
        return f"within {claim.bound:g}"
    if claim.kind == "count":
        return f"{claim.expected:g} within {claim.bound:g}"
    return f"at least {claim.bound:g}"


def quantity(claim: Claim) -> str:
    """What the printed number is: a difference, a ratio, or a number.

    >>> from hashbench.results.claims.published import claims_of
    >>> quantity(claims_of("hashformers")[1])
    'difference'
    """
    return {"count": "number", "ratio_at_least": "ratio"}.get(claim.kind, "difference")


def number(value: float, claim: Claim) -> str:
    """A value in the claim's unit; differences with their sign."""
    sign = "+" if quantity(claim) == "difference" else ""
    if claim.unit == "params":
        return f"{value:{sign},.0f}"
    return f"{value:{sign}.3f}" if claim.unit in ("x", "Mi", "K", "M", "MB", "KB") else f"{value:{sign}.2f}"


def measured(claim: Claim, decision: Decision) -> str:
    """'+1.57 [+0.60, +2.55] points', of a difference of percents, or nothing where there is no number."""
    if decision.value is None:
        return ""
    interval = ""
    if decision.low is not None and decision.high is not None:
        interval = f" [{number(decision.low, claim)}, {number(decision.high, claim)}]"
    is_points = claim.unit == "percent" and quantity(claim) == "difference"
    return f"{number(decision.value, claim)}{interval} {'points' if is_points else claim.unit}"


def stands_on(decision: Decision) -> str:
    """'2 seeds (0, 1); 1,150 examples of rte, sst2', as far as it is known; many tasks are counted."""
    parts = ["exact"] if decision.exact else []
    n = len(decision.seeds)
    if n:
        seeds = "" if decision.timed else f" ({', '.join(map(str, decision.seeds))})"
        parts.append(f"{n} {'timed run' if decision.timed else 'seed'}{'s' if n > 1 else ''}{seeds}")
    if decision.n_examples:
        tasks = ", ".join(decision.tasks) if len(decision.tasks) <= FEW else f"{len(decision.tasks)} tasks"
        parts.append(f"{decision.n_examples:,} examples of {tasks}")
    return "; ".join(parts)


def remarks(decided: Decided) -> list[str]:
    """How a verdict is to be read: marks, the tags that matter, and fewer seeds than the claim asks for."""
    remarked = list(decided.marks) if decided.outcome != "not measured" else []
    if BOUND_OURS in decided.claim.tags:
        remarked.append(f"[{BOUND_OURS}] the threshold is not the paper's")
    if decided.claim.published_holds == "no":
        remarked.append("the paper's own numbers do not give it")
    wanted = wanted_seeds(decided.claim)
    if wanted and 1 < len(decided.seeds) < wanted and not decided.shown.timed:
        remarked.append(f"{len(decided.seeds)} of the {wanted} seeds asked for")
    return remarked


def wanted_seeds(claim: Claim) -> int | None:
    """The least number of seeds that a claim asks for ('3 x 2 hash seeds': 3), None where it asks for none."""
    for need in claim.needs.split(";"):
        key, _, value = need.strip().partition("=")
        if key == "seeds" and value.split(" ")[0].isdigit():
            return int(value.split(" ")[0])
    return None


def tally(decided: Iterable[Decided]) -> Tally:
    """How many of each verdict, in the order of the rule: of scores, of arithmetic on counts and of times apart.

    Claims that name a model which the experiment does not have are not counted."""
    counts = Counter((each.about, each.outcome) for each in decided if not each.names_absent_model)
    kinds = {about for about, _ in counts}
    return {about: {outcome: counts[about, outcome] for outcome in OUTCOMES} for about in ABOUT if about in kinds}


def tally_words(counts: dict[Outcome, int]) -> str:
    """'2 hold, 1 undecided'.

    >>> tally_words({"holds": 1, "fails": 0, "undecided": 2, "not measured": 0})
    '1 holds, 2 undecided'
    """
    return ", ".join(f"{n} {PLURALS[outcome] if n > 1 else outcome}" for outcome, n in counts.items() if n)


def short_tally(decided: Sequence[Decided]) -> str:
    """'scores: 2 undecided; arithmetic: 1 holds'; without a name where there is one kind."""
    kinds = tally(decided)
    if not kinds:
        return "about models that are not in this experiment"
    names = SHORT if len(kinds) > 1 else dict.fromkeys(ABOUT, "")
    return "; ".join(names[about] + tally_words(counts) for about, counts in kinds.items())


def tally_lines(decided: Sequence[Decided]) -> list[str]:
    """'On scores, 3 claims: 1 holds, 0 fail, 2 undecided (1 at the baseline), 0 not measured.', a line a kind."""
    lines = []
    for about, counts in tally(decided).items():
        members = [each for each in decided if each.about == about and not each.names_absent_model]
        parts = []
        for outcome, n in counts.items():
            reasons = Counter(each.because for each in members if each.outcome == outcome and each.because)
            listed = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
            parts.append(f"{n} {outcome if n == 1 else PLURALS[outcome]}" + (f" ({listed})" if listed else ""))
        n_claims = f"{len(members)} claim{'s' if len(members) > 1 else ''}"
        lines.append(f"{ABOUT_WORDS[about]}, {n_claims}: {', '.join(parts)}.")
    absent = sum(each.names_absent_model for each in decided)
    if absent:
        many = f"{absent} further claims name models" if absent > 1 else "A further claim names a model"
        lines.append(f"{many} that the experiment does not have: not counted.")
    return lines


def closing(decided: Sequence[Decided]) -> list[str]:
    """The counts at the end, and what 95 % means of so many."""
    by_interval = sum(each.outcome in ("holds", "fails") and not each.shown.exact for each in decided)
    lines = tally_lines(decided)
    if by_interval > 1:
        chance = math.ceil(by_interval * (1 - CONFIDENCE))
        lines.append(f"{by_interval} verdicts rest on a 95 % interval each and are not corrected for their number: up "
                     f"to about {chance} of them may be wrong by chance.")  # fmt: skip
    return lines


def evidence(decided: Decided) -> str:
    """'difference +1.57 [+0.60, +2.55] points, claimed > 0 (paper: 3.6); 1 seed (0); ...'."""
    claim, shown = decided.claim, decided.shown
    value = measured(claim, shown)
    unknown = claim.expected is None or claim.kind == "count"  # a count's number is what is claimed
    paper = "" if unknown else f" (paper: {number(claim.expected or 0.0, claim)})"
    what = f"{quantity(claim)} {value}, claimed " if value else "claimed "
    of = f"; of {len(decided.parts)} parts this one: {shown.part}" if value and len(decided.parts) > 1 else ""
    stands = stands_on(shown)
    return f"{what}{claimed(claim)}{paper}" + (f"; {stands}" if value and stands else "") + of


def lacks(missing: Sequence[str]) -> str:
    """'missing: ...', lacks of one kind together."""
    absent = [why.removeprefix(MODEL).removesuffix(NOT_HERE) for why in missing if is_absent_model(why)]
    by_reason: dict[str, list[str]] = {}
    for why in missing:
        if not is_absent_model(why):
            what, _, reason = why.partition(": ")
            by_reason.setdefault(reason, []).append(what)
    parts = [f"not in this experiment: {', '.join(absent)}"] if absent else []
    parts += [f"{', '.join(whats)}: {reason}" for reason, whats in by_reason.items()]
    return f"missing: {'; '.join(parts)}" if parts else ""
