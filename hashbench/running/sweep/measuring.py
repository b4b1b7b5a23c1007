"""Measurements of an experiment's models before their first run: `check --measure` takes them, every plan prints them.

A measurement that needs a vocabulary makes it, as the sweep would; what it found is kept in the cache by
`measured_before.remember`, so that a plan without `--measure` only looks it up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hashbench.data.sources.fingerprints import cache_folder
from hashbench.results.rendering.rows import text_lines
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep import model_sizes, row_lengths, text_shares, text_times, word_spreads


@dataclass(frozen=True)
class Measurement:
    """One kind of measurement of the models of an experiment."""

    title: str  # of its rows
    # Measures what the cache does not have yet
    take: Callable[[ResolvedExperiment, Materials], object]
    # What is known without measuring; empty: nothing to print
    rows: Callable[[ResolvedExperiment], list[SummaryRow]]
    notes: Callable[[ResolvedExperiment], list[str]] = lambda resolved: []


MEASUREMENTS: tuple[Measurement, ...] = (
    Measurement(model_sizes.TITLE, lambda resolved, materials: None, model_sizes.rows),
    Measurement(text_shares.TITLE, text_shares.take, text_shares.rows, text_shares.notes),
    Measurement(row_lengths.TITLE, row_lengths.take, row_lengths.rows, row_lengths.notes),
    Measurement(word_spreads.TITLE, word_spreads.take, word_spreads.rows, word_spreads.notes),
    Measurement(text_times.TITLE, text_times.take, text_times.rows, text_times.notes),
)


def take_all(resolved: ResolvedExperiment, progress: Callable[[str], None] | None = None) -> None:
    """Takes all measurements of an experiment; `progress` gets lines on how far a corpus is."""
    materials = Materials(resolved.sources, cache_folder(), resolved.tasks, progress=progress)
    for measurement in MEASUREMENTS:
        measurement.take(resolved, materials)


def results(resolved: ResolvedExperiment) -> list[tuple[str, list[SummaryRow], list[str]]]:
    """Title, rows and notes of each measurement of which something is known."""
    shown = [(kind.title, kind.rows(resolved), kind.notes(resolved)) for kind in MEASUREMENTS]
    return [(title, rows, notes) for title, rows, notes in shown if rows or notes]


def print_results(resolved: ResolvedExperiment, *, measured: bool = False) -> None:
    """Prints what is known of an experiment's models before their first run, each kind of measurement as a table.

    `measured`: also why nothing could be measured, where measurements were requested.
    """
    for title, rows, remarks in results(resolved):
        if not rows and not measured:
            continue
        print(f"\n{title}")
        columns = list(dict.fromkeys(name for row in rows for name in row))  # a model not yet measured has fewer
        if rows:
            print("\n".join(text_lines(columns, [dict.fromkeys(columns) | row for row in rows])))
        for remark in remarks:
            print(f"note: {remark}")
