"""The papers' claims and user-defined claims, decided on the results of an experiment."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hashbench.common.errors import InputError, near_match
from hashbench.results.claims.claim import Claim, csv_rows, read_rows
from hashbench.results.claims.columns import check_column, claims_of, exact_value, published_models
from hashbench.results.claims.decide import NO_SPREAD, decide
from hashbench.results.claims.grammar import Missing
from hashbench.results.claims.results import Results, TimedRuns
from hashbench.results.claims.verdicts import Decided
from hashbench.results.papers.paper import Column, Paper, load_paper, papers
from hashbench.results.read.evidence import Evidence, Sample, draw_together
from hashbench.results.read.measured import Measured
from hashbench.results.read.origins import counted_classes
from hashbench.results.tables.notes import provenance, warnings
from hashbench.results.tables.request import ReportRequest, ReportSource, paper_of
from hashbench.results.tables.table import Table
from hashbench.scores.base import is_drawable
from hashbench.scores.best import holm
from hashbench.scores.draws import DRAWS
from hashbench.store.engine import Store

# Stored predictions above which fewer draws are made: 10,000 of each of 8,000 are a gigabyte and most of a minute
MANY_ROWS, FEWER_DRAWS = 4_000, 1_000
KEY = "claims"  # of the experiment file
SIZES = ("emb_params", "total_params")
COUNTED = "Counts of the paper's models at the paper's sizes. Nothing of the experiment is behind them."
# Columns from which the warnings of a report of claims follow: scores and facts. Only the measures count.
COLUMNS = (Column("score", "percent", "score"), Column("fact", "count", "fact"))


@dataclass(frozen=True)
class DecidedClaims:
    """The decided claims of one paper, or the experiment's own, with warnings and provenance of the data."""

    title: str
    paper: str  # '' for own claims
    experiment: str
    decided: tuple[Decided, ...]
    warnings: tuple[str, ...]
    provenance: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    counted: bool = False  # on the sizes of the paper's models, counted here: nothing of the experiment is behind them

    def by_number(self) -> dict[str, list[Decided]]:
        """The decided claims by the number that they are parts of."""
        numbers: dict[str, list[Decided]] = {}
        for decided in self.decided:
            numbers.setdefault(decided.claim.number, []).append(decided)
        return numbers

    def decided_in_order(self) -> list[Decided]:
        """The decided claims in the order in which they are printed: claims of one number together."""
        return [decided for members in self.by_number().values() for decided in members]


def claim_sections(
    store: Store, request: ReportRequest = ReportRequest(), *, draws: int = DRAWS
) -> list[DecidedClaims]:
    """As `sections_of`, of a request on a store."""
    return sections_of(ReportSource(store, request), draws=draws)


def sections_of(results: ReportSource, *, draws: int = DRAWS) -> list[DecidedClaims]:
    """User-defined claims, then the claims of each paper, decided, each with warnings and provenance.

    Without a paper in the request: every claim of any paper that names a model of the experiment. Claims on a paper's
    own sizes are sections at the end, shown if the paper is named or the experiment has its models at its sizes.

    Raises InputError for wrong input, and where nothing can be decided for want of predictions.
    """
    store, request = results.store, results.request
    source = load_paper(request.paper) if request.paper is not None else None
    measured = results.measured
    models = {*measured.labels(), measured.experiment.baseline, *_trivial(measured)}
    user_claims = read_rows(*csv_rows(request.claims_file), models) if request.claims_file is not None else []
    _check_own(user_claims, measured)
    if source is None:  # these may name models that the experiment lacks: not measured; the sweep printed a note
        rows, name = measured.experiment.config.get(KEY) or [], measured.experiment.name
        places = [f"{name}: claims, entry {i + 1}" for i in range(len(rows))]
        user_claims = [*read_rows(rows, places, models), *user_claims]
    draws = min(draws, FEWER_DRAWS) if len(measured.n_examples) > MANY_ROWS else draws
    evidence, times = Evidence(store, measured, draws=draws), TimedRuns(measured)
    groups = [(source, claims_of(source.name))] if source else _about(measured)
    # The paper whose claims these are (None: user-defined), the paper whose columns they read, and the claims.
    sourced: list[tuple[Paper | None, Paper | None, list[Claim]]] = [(paper, paper, claims) for paper, claims in groups]
    for name in dict.fromkeys(claim.paper for claim in user_claims):
        claims = [claim for claim in user_claims if claim.paper == name]
        sourced.append((None, load_paper(name) if name else None, claims))
    every = [
        (paper, Results(measured, columns_of, evidence, times, one_seed=request.one_seed), claims)
        for paper, columns_of, claims in sourced
    ]
    groups_of = [group for of_paper in every for group in _by_frame(*of_paper, named=source is not None)]
    if not groups_of:
        raise InputError(f"{store.name}: no claim names a model of {measured.experiment.name}; "
                         "give --paper, or claims of your own with --claims-file FILE.csv")  # fmt: skip
    draw_together(_all_samples([(result, claims) for _, result, claims in groups_of]), constants=True)
    sections = [_section(*group, named=source is not None) for group in groups_of]
    _refuse_undecidable(store, measured, [claim for section in sections for claim in section.decided])
    return sorted(sections, key=lambda section: (section.counted, section.paper != ""))


def _by_frame(
    paper: Paper | None, results: Results, claims: Sequence[Claim], *, named: bool
) -> list[tuple[Paper | None, Results, list[Claim]]]:
    """The claims on what the experiment measured, then those on the paper's own sizes; groups with claims alone.

    The latter only if the paper is `named`, or if they are true of the experiment's models too.
    """
    on_sizes = [claim for claim in claims if paper is not None and claim.counts_only]
    others = [claim for claim in claims if claim not in on_sizes]
    shown = on_sizes if paper and (named or _has_sizes_of(paper, results.measured)) else []
    return [(paper, results, group) for group in (others, shown) if group]


def _has_sizes_of(paper: Paper, measured: Measured) -> bool:
    """True if the experiment's models are the paper's: their encoder, and their numbers of parameters."""
    models = [entry for entry in measured.entries if not entry.is_baseline]
    sizes = [(entry, name, exact_value(paper, entry.model, name)) for entry in models for name in SIZES]
    own = [(entry, name, size) for entry, name, size in sizes if size is not None]
    return bool(own) and all(
        (fact := measured.fact(entry, name)) is not None and fact.value == size
        and entry.encoder == (paper.recipe.encoder or entry.encoder)
        for entry, name, size in own
    )  # fmt: skip


def _about(measured: Measured) -> list[tuple[Paper, list[Claim]]]:
    """(paper, claims) of each paper with claims that name a model of the experiment."""
    named = [
        (paper, [claim for claim in claims_of(paper.name) if _names_model(claim, paper, measured)])
        for paper in map(load_paper, papers())
    ]
    return [(paper, claims) for paper, claims in named if claims]


def _names_model(claim: Claim, paper: Paper, measured: Measured) -> bool:
    """True if a claim of the paper names a model of the experiment, itself or as one of a family."""
    families = [section.families for layout in paper.tables.values() for section in layout.sections]
    members = {name: models for family in families for name, models in family.items()}
    return any(set(members.get(slug, (slug,))) & measured.labels() for slug in claim.slugs)


def _check_own(claims: Sequence[Claim], measured: Measured) -> None:
    """Checks that user-defined claims name existing models, papers and columns. Raises InputError."""
    published, labels = published_models(), measured.labels() | _trivial(measured)
    for claim in claims:
        if claim.paper and claim.paper not in papers():
            raise InputError(f"{claim.where}: claim {claim.id!r}: no paper {claim.paper!r}; there are: "
                             f"{', '.join(papers())}; or leave it empty")  # fmt: skip
        for slug in claim.slugs:
            if slug not in labels and slug not in published:
                near = near_match(slug, sorted(labels | published))
                has = f"{measured.experiment.name} has {', '.join(sorted(labels))}"
                raise InputError(f"{claim.where}: claim {claim.id!r}: unknown model {slug!r}{near}; {has}")
        if not claim.paper:
            for column in dict.fromkeys(column for part in claim.parts for _, column in part.leaves):
                check_column(measured, column, f"{claim.where}: claim {claim.id!r}")


def _trivial(measured: Measured) -> set[str]:
    """The names of the experiment's trivial baselines, which its own claims may name."""
    return {entry.model for entry in measured.entries if entry.is_baseline}


def _all_samples(groups: Sequence[tuple[Results, Sequence[Claim]]]) -> list[Sample]:
    """Scores with predictions that the claims need, trivial baselines included.

    They are collected so that the examples of a task are drawn once for all models and metrics.
    """
    drawn: dict[int, Sample] = {}
    for results, claims in groups:
        for part in (part for claim in claims if not claim.counts_only for part in claim.parts):
            for slug, column in part.leaves:
                with contextlib.suppress(Missing):
                    for sample in (*results.samples(slug, column), *results.samples_of_baselines([column])):
                        if is_drawable(sample.metric) and not sample.missing():
                            drawn[id(sample)] = sample
    return list(drawn.values())


def _section(paper: Paper | None, results: Results, claims: Sequence[Claim], *, named: bool) -> DecidedClaims:
    """The claims of a paper (None: user-defined) decided, with warnings and provenance. `named` in the request."""
    measured = results.measured
    shown = paper or results.paper or paper_of(measured)
    decided = [decide(claim, results.for_claim(claim, of_paper=paper is not None)) for claim in claims]
    counted = paper is not None and all(claim.counts_only for claim in claims)
    if paper is not None and not counted:  # counts do not depend on the experiment's models
        decided = [replace(claim, of_other_models=not _names_model(claim.claim, paper, measured)) for claim in decided]
    source = paper.name if paper else ""
    basis = Table(
        source, "claims", "", measured.experiment.name, COLUMNS, (), published=paper is not None,
        readings=tuple(_readings(decided, measured)), statistic=shown.statistic,
    )  # fmt: skip
    notes = counted_classes(measured, basis.readings) + (
        _left_out(paper, results, claims, named=named) if paper else []
    )
    notes += [note] if (note := measured.note_on_units()) else []
    if len(measured.n_examples) > MANY_ROWS:
        notes += [f"Intervals are of {results.evidence.draws:,} draws of the examples: there are many runs."]
    title = f"{f'Claims of {paper.title}' if paper else 'Own claims'}, on {measured.experiment.name}"
    return DecidedClaims(
        title=f"The sizes of {paper.title}, counted here" if paper and counted else title,
        paper=source,
        experiment=measured.experiment.name,
        decided=tuple(_corrected(decided)),
        warnings=() if counted else tuple(warnings(measured, shown, basis)),
        provenance=() if counted else tuple(provenance(measured, shown, basis)),
        notes=(COUNTED,) if counted else tuple(notes),
        counted=counted,
    )


def _corrected(decided: Sequence[Decided]) -> list[Decided]:
    """The decided claims, each with whether its verdict stays with Holm's correction for all of them."""
    chances = {place: claim.chance for place, claim in enumerate(decided)}
    tested = {place: chance for place, chance in chances.items() if chance is not None}
    stays = dict(zip(tested, holm(list(tested.values())), strict=True))
    return [replace(claim, corrected=stays.get(place)) for place, claim in enumerate(decided)]


def _left_out(paper: Paper, results: Results, claims: Sequence[Claim], *, named: bool) -> list[str]:
    """Notes on claims of a paper that its section does not have."""
    every, name = claims_of(paper.name), results.measured.experiment.name
    on_sizes = [claim for claim in every if claim.counts_only and _names_model(claim, paper, results.measured)]
    notes = []
    if sum(not claim.counts_only for claim in every) > sum(not claim.counts_only for claim in claims):
        notes.append(f"Claims of {paper.name} that name no model of the experiment are left out.")
    if on_sizes and not named and not _has_sizes_of(paper, results.measured):
        notes.append(f"Claims on the paper's own sizes say nothing about this experiment ({len(on_sizes)}, with "
                     f"hashbench report claims {name} --paper {paper.name}).")  # fmt: skip
    return notes


def _readings(decided: Sequence[Decided], measured: Measured) -> list[tuple[str, str, str]]:
    """The (task, metric, split) of the experiment's reported scores, for the tasks on which claims were decided."""
    tasks = {task for claim in decided for part in claim.parts for task in part.tasks}
    scores = [score for scores in measured.scores.values() for score in scores if score.own and score.run.task in tasks]
    return list(dict.fromkeys((score.run.task or "", score.metric, score.split) for score in scores))


def _refuse_undecidable(store: Store, measured: Measured, decided: Sequence[Decided]) -> None:
    """Raises InputError where no claim can be decided: an experiment of single seeds without predictions."""
    measured_claims = [claim for claim in decided if claim.outcome != "not measured"]
    if measured_claims and all(NO_SPREAD in claim.marks for claim in measured_claims):
        raise InputError(f"{store.name}: {measured.experiment.name} has one seed and no stored predictions, so that no "
                         "claim can be decided; read the database that the sweep wrote, not an export")  # fmt: skip
