"""Counting, for runs that are stored already, how much of their texts they read: `hashbench db count-texts`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hashbench.common.errors import InputError
from hashbench.common.texts_read import NOTE, TextsRead
from hashbench.data.sources.fingerprints import usable_cache_folder
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import locate_task
from hashbench.data.tasks.text_data import TaskData
from hashbench.results.read.measured import measure
from hashbench.results.read.runs import MeasuredRun, grouped
from hashbench.running.experiment.stored import model_of_run
from hashbench.running.experiment.tasks import task_of
from hashbench.running.runs.finetuning import KIND as FINETUNING
from hashbench.running.runs.materials import Materials
from hashbench.running.runs.reading import counted, counted_before, digest_of
from hashbench.store.engine import Store
from hashbench.store.finishing import add_note


@dataclass(frozen=True)
class CountedRuns:
    """Runs of one data set, tokenizer and limit, with a line on their counts."""

    line: str
    missed: bool = False  # they are not counted


def count_texts(
    store: Store, experiment: str | None, data: Sequence[str] | None, *, trust_code: bool = False
) -> Iterator[CountedRuns]:
    """Counts and stores what the finished fine-tunings of an experiment (None: the last) read; yields a line for
    each data set, tokenizer and limit.

    Nothing is counted where the data at hand, or the corpora that a vocabulary is learned from, are not those of the
    run: the line says why.
    """
    runs = measure(store, experiment).trainings()
    open_runs = [run for run in runs if run.kind == FINETUNING.name and run.state == "done" and run.texts_read is None]
    if not open_runs:
        yield CountedRuns("nothing to count: every finished fine-tuning has its counts")
    for same in grouped((digest_of(run.spec), run) for run in open_runs).values():
        models = ", ".join(dict.fromkeys(run.model for run in same))
        try:
            note = _counts(store, same[0], data, trust_code=trust_code).note()
        except InputError as error:
            yield CountedRuns(f"{same[0].task}, {models}: not counted: {error}", missed=True)
            continue
        ids = list(dict.fromkeys(run.run_id for run in same))
        for run_id in ids:
            add_note(store, run_id, NOTE, note)
        yield CountedRuns(f"{same[0].task}, {models}: counted, {len(ids)} run{'s' if len(ids) > 1 else ''}")


def _counts(store: Store, run: MeasuredRun, data: Sequence[str] | None, *, trust_code: bool) -> TextsRead:
    """The counts of a run. Raises InputError where its data, its model or its vocabulary are not at hand."""
    if (before := counted_before(run.spec)) is not None:
        return before
    stored = model_of_run(store, run.run_id, trust_code=trust_code)
    sources = stored.sources(data)
    located = locate_task(task_of(stored.loaded, str(run.task)), open_sources(sources))
    if located.fingerprint != run.fingerprint:
        raise InputError(f"{located.origin} has other data than the run; give those: --data FOLDER")
    materials = Materials(sources, usable_cache_folder(), [located])
    texts, rows = materials.texts(stored.model), located.load()
    assert isinstance(rows, TaskData)  # a fine-tuning is on a task of texts
    template, finetune = stored.model.spec.text.template, stored.model.finetune
    return counted(run.spec, rows, texts.tokenizer, template, finetune, materials.cache)
