"""Tables of minimal pairs: accuracy in all, by field, phenomenon and paradigm, beside published language models.

A column is a model. Published numbers are of whole sentences ("simple LM method") of the same pairs; BLiMP's are those
of Warstadt et al. 2020 as their repository corrected them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import PUBLISHED, Column
from hashbench.results.read.evidence import NO_PREDICTIONS, Sample
from hashbench.results.read.measured import PERCENT
from hashbench.results.read.minimal_pairs import Group, PairResults, pair_results
from hashbench.results.tables.request import DRAWS, ReportSource, TableFile
from hashbench.results.tables.table import Cell, Row, Table
from hashbench.scores.draws import Estimate
from hashbench.scores.minimal_pairs import pair_accuracy

TASK, PARADIGM = "task", "paradigm"  # columns of published/minimal_pairs.csv; the others are models
MEANING = (
    "Share of the pairs whose good sentence has the higher score, in percent; chance is 50, equal scores count one "
    "half. The score is the sum over tokens, of log P(intact) after Shuffle + Random (acceptability, no likelihood), "
    "of log P(token) with the token masked after masked language modelling."
)
PUBLISHED_ARE = "Published: Warstadt et al. 2020, their corrected numbers, of language models with larger vocabularies"
INTERVALS = "Intervals: 95 %, pairs drawn within their paradigms; with two or more pre-trainings over their seeds too."


def published_accuracies(task: str) -> Mapping[str, Mapping[str, float]]:
    """The accuracies, shares of pairs, by model and paradigm; none where nothing is published on the task."""
    rows = csv.DictReader((PUBLISHED / "minimal_pairs.csv").read_text(encoding="utf-8").splitlines())
    of_task = [row for row in rows if row[TASK] == task]
    models = [name for name in of_task[0] if name not in (TASK, PARADIGM)] if of_task else []
    return {model: {row[PARADIGM]: float(row[model]) for row in of_task} for model in models}


def pair_tables(source: ReportSource) -> list[Table]:
    """For each task of minimal pairs a table by groups of paradigms, then a table of the paradigms.

    Raises InputError where the experiment has no finished run on such a task.
    """
    measured = source.measured
    results = pair_results(measured, source.draws)
    if not results:
        name = measured.experiment.name
        raise InputError(f"table pairs: '{name}' has no finished run on minimal pairs, such as blimp; choose another")
    draws = DRAWS if source.request.examples else None
    tables = []
    for of in results:
        groups = of.groups()
        levels = [[group for group in groups if (group.level == PARADIGM) == alone] for alone in (False, True)]
        for some, title in zip(levels, (f"minimal pairs: {of.task}", f"paradigms of {of.task}"), strict=True):
            if some:
                tables.append(_table(source, of, some, title, draws))
    return tables


def _table(source: ReportSource, results: PairResults, groups: Sequence[Group], title: str, draws: int | None) -> Table:
    columns = [_column(sample) for sample in results.samples]
    accuracies = published_accuracies(results.task)
    published = [Column(f"published_{name}", "percent", "fact", name, subtitle="published") for name in accuracies]
    rows = []
    for group in groups:
        estimates = zip(results.samples, results.estimates(group, draws), strict=True)
        cells = {_name(sample): _cell(estimate) for sample, estimate in estimates}
        for model, by_paradigm in accuracies.items():
            value = _published(by_paradigm, results, group)
            cells[f"published_{model}"] = Cell(None if value is None else PERCENT * value, unit="percent")
        rows.append(Row(group.name, group.name, cells, kind="task", section=group.level))
    by_group = groups[0].level != PARADIGM
    notes = [MEANING, _ties(results)] if by_group else []
    notes += [f"{PUBLISHED_ARE}."] if published else []
    notes += [INTERVALS] if draws is not None else []
    name = source.measured.experiment.name
    return Table(
        paper="",
        number="pairs",
        title=f"Experiment {name}: {title}",
        experiment=name,
        columns=(*columns, *published),
        rows=tuple(rows),
        notes=tuple(notes),
        published=False,
        readings=((results.task, results.samples[0].metric, results.samples[0].split),) if results.samples else (),
    )


def _published(by_paradigm: Mapping[str, float], results: PairResults, group: Group) -> float | None:
    """The published accuracy on a group, the mean over its paradigms; None where one is not known, and by other scores.

    Published are scores of whole sentences, the sum over their tokens.
    """
    members = [name for name, inside in zip(results.paradigms.names, group.members, strict=True) if inside]
    if group.metric != pair_accuracy.name or not set(members) <= set(by_paradigm):
        return None
    return fmean(by_paradigm[name] for name in members)


def _name(sample: Sample) -> str:
    """The name of a sample's column, which settings set apart where a model has several rows."""
    entry = sample.entry
    return f"{entry.title} ({entry.settings})" if entry.settings else entry.title


def _column(sample: Sample) -> Column:
    seeds = len(sample.by_seed())
    words = "baseline" if sample.entry.is_baseline else f"{seeds} pre-trainings" if seeds > 1 else "one pre-training"
    return Column(_name(sample), "percent", "fact", _name(sample), subtitle=words)


def _cell(estimate: Estimate | None) -> Cell:
    """An accuracy in percent with its interval."""
    if estimate is None or math.isnan(estimate.value):
        return Cell(unit="percent", reason=NO_PREDICTIONS if estimate is None else "no such pair")
    interval = None if math.isnan(estimate.low) else (PERCENT * estimate.low, PERCENT * estimate.high)
    return Cell(PERCENT * estimate.value, interval=interval, n_examples=estimate.n_examples, unit="percent")


def _ties(results: PairResults) -> str:
    """A line on how many pairs have equal scores, of each model."""
    counts = {title: " and ".join(f"{n:,}" for n in of) or "unknown" for title, of in results.n_ties().items()}
    listed = ", ".join(f"{title} {words}" for title, words in counts.items())
    return f"Pairs with equal scores, of {results.n_pairs():,}: {listed}."


TABLE = TableFile(
    "pairs",
    "minimal pairs: accuracy by field, phenomenon and paradigm, beside published language models",
    pair_tables,
)
