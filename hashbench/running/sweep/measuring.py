"""Facts on the models of an experiment before their first run: sizes, shares of texts read, spreads of word vectors.

Sizes follow from shapes. `check --measure` counts texts, which needs vocabularies and makes them as the sweep would;
the counts stay in the cache, and every plan prints them. Spreads are measured where they are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hashbench.data.sources.fingerprints import cache_folder
from hashbench.results.rendering.rows import text_lines
from hashbench.running.experiment.resolved import ResolvedExperiment, SummaryRow
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep import model_sizes, text_shares, word_spreads


def print_results(resolved: ResolvedExperiment) -> None:
    """Prints the sizes of an experiment's models, and the shares of texts that they read as far as these are known."""
    _print(model_sizes.TITLE, model_sizes.rows(resolved))
    _print(text_shares.TITLE, text_shares.rows(resolved), text_shares.notes(resolved))


def measure(resolved: ResolvedExperiment, progress: Callable[[str], None] | None = None) -> None:
    """Counts and measures what is not known, and prints all of it; `progress` gets lines on how far a corpus is."""
    materials = Materials(resolved.sources, cache_folder(), resolved.tasks, progress=progress)
    text_shares.take(resolved, materials)
    print_results(resolved)
    spreads = word_spreads.measured(resolved, materials)
    _print(word_spreads.TITLE, word_spreads.rows(spreads), word_spreads.notes(spreads))


def _print(title: str, rows: Sequence[SummaryRow], remarks: Sequence[str] = ()) -> None:
    """Prints a table with its notes; without rows nothing."""
    if not rows:
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))  # a model not yet counted has fewer
    print(f"\n{title}")
    print("\n".join(text_lines(columns, [dict.fromkeys(columns) | row for row in rows])))
    for remark in remarks:
        print(f"note: {remark}")
