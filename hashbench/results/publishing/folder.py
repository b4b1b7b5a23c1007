"""A folder of results to pass on: records of Every Eval Ever, files for model pages of the hub, views as parquet.

    data/COLLECTION/ORGANISATION/MODEL/ID.json            an aggregate record; COLLECTION: hashbench_EXPERIMENT
    data/COLLECTION/ORGANISATION/MODEL/ID_samples.jsonl   its examples
    hub/MODEL/.eval_results/COLLECTION.yaml               scores on data sets of the hub, for the model's folder there
    views/VIEW.parquet                                    the views of the database

Ids are of the content, so that a second publication of the same results writes the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.common.atomic import atomic_write, replace_text
from hashbench.common.errors import InputError, near_match
from hashbench.results.exchange.export import scrub_text
from hashbench.results.publishing.records import (
    Aggregate,
    SplitTexts,
    aggregates,
    checked_organisation,
    example_records,
    has_examples,
)
from hashbench.results.read import queries
from hashbench.results.read.measured import Measured, measure
from hashbench.results.read.samples import Evidence, Sample
from hashbench.results.tables.request import DRAWS
from hashbench.store.engine import Store
from hashbench.store.result import BY_TARGET
from hashbench.store.status import experiment_names

PARTS = ("data", "hub", "views")  # folders of a publication
TextsOf = Callable[[Sample], SplitTexts]  # the texts of a sample's rows; raises InputError where they are not at hand


@dataclass
class Publication:
    """Numbers of files that were written, and notes on what was left out."""

    records: int = 0
    examples: int = 0  # example records
    hub_files: int = 0
    views: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> str:
        """The numbers in words."""
        numbers = {"record": self.records, "example": self.examples, "file of the hub": self.hub_files}
        numbers |= {"view": self.views} if self.views else {}
        counts = [
            (n, name if n == 1 else name.replace(name.split()[0], f"{name.split()[0]}s", 1))
            for name, n in numbers.items()
        ]
        return ", ".join(f"{n:,} {name}" for n, name in counts)

    def note(self, text: str) -> None:
        """Adds a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def publish(
    store: Store,
    folder: Path,
    organisation: str,
    experiments: Sequence[str] = (),
    *,
    texts_of: TextsOf | None = None,
    views: bool = False,
    draws: int = DRAWS,
) -> Publication:
    """Writes the results of some experiments (none named: of all) below a folder, which is made.

    `texts_of`: for example records, which hold the texts; None: aggregates alone. `draws`: of examples, for intervals;
    tables take the default. Raises InputError for an unknown experiment, a name that is none of an organisation, and a
    folder in which no file can be written.
    """
    checked_organisation(organisation)
    names = list(dict.fromkeys(experiment_names(store)))
    for name in experiments:
        if name not in names:
            raise InputError(f"{store.name}: no experiment {name!r}{near_match(name, names) or '; see hashbench list'}")
    done = Publication()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.glob("[!.]*") if path.name not in PARTS)
        written: set[Path] = set()
        for name in experiments or names:
            written |= set(_experiment(measure(store, name), folder, organisation, texts_of, draws, done))
        if views:
            _write_views(store, folder / "views", done)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder") from error
    if others:  # a clone of where results are collected has some
        done.note(f"{len(others)} other files or folders are in {folder} and stay, as {others[0]}")
    if older := sorted({path for path in (folder / "data").glob("*/*/*/*.json*")} - written):
        done.note(f"{len(older)} files of other results are in {folder / 'data'} and stay, as {older[0].name}")
    if not done.records:
        done.note("no experiment has a score yet, so there is no record")
    elif not done.hub_files:
        done.note(
            "no file for the hub: these are of tasks whose data came from the hub (data: hub), which none did here"
        )
    return done


def _experiment(
    measured: Measured, folder: Path, organisation: str, texts_of: TextsOf | None, draws: int, done: Publication
) -> Iterator[Path]:
    """The files of an experiment, each after it was written."""
    evidence = Evidence(measured.store, measured, draws=draws, as_stored=True)  # as tables
    evidence.draw(
        sample
        for entry in measured.entries
        for task in measured.tasks()
        if (sample := evidence.own(entry, task)) is not None
    )
    of_hub: dict[Path, list[Any]] = {}
    for of in aggregates(measured, evidence, organisation):
        record, lines = of.record, [] if texts_of is None else _example_lines(measured, of, texts_of, done)
        if lines:
            record = of.with_samples(lines)
            place = folder / of.samples_place
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_text(place, "".join(f"{line}\n" for line in lines))
            yield place
        place = folder / of.place
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_text(place, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        done.records, done.examples = done.records + 1, done.examples + len(lines)
        yield place
        for file, entries in _hub_entries(of, folder):
            of_hub.setdefault(file, []).extend(entries)
    for file, entries in of_hub.items():
        _write_yaml(file, entries)
    done.hub_files += len(of_hub)


def _example_lines(measured: Measured, of: Aggregate, texts_of: TextsOf, done: Publication) -> list[str]:
    """The example records of a record as lines of JSON; none where the database or the data do not allow them."""
    lines: list[str] = []
    for sample in of.samples:
        where = f"{measured.experiment.name}: {sample.task}"
        if any(stored.index_fingerprint.startswith(BY_TARGET) for stored in sample.stored.values()):
            done.note(
                f"{measured.store.name}: is an exported database, which does not know its examples: aggregates alone"
            )
        elif not has_examples(sample):
            done.note(f"{where}: aggregates alone, since its examples are not right or wrong, or were not stored")
        else:
            try:
                texts = texts_of(sample)
            except InputError as error:
                done.note(f"{where}: aggregates alone: {error}")
                continue
            records = example_records(of, sample, texts)
            lines += [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records]
    return lines


def _hub_entries(of: Aggregate, folder: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The file for a model's page on the hub with an entry for each task whose data came from the hub."""
    from huggingface_hub import EvalResultEntry

    entries, settings = [], of.samples[0].entry.settings
    for result, hub in zip(of.record["evaluation_results"], of.hub, strict=True):
        if hub is None:
            continue
        score = result["score_details"]
        interval = score.get("uncertainty", {}).get("confidence_interval")
        over = f", 95 % interval over examples {interval['lower']:.4f} to {interval['upper']:.4f}" if interval else ""
        n_seeds = len(score["details"]["scores"].split())
        description = f"{result['metric_config']['metric_id']} on {result['source_data']['hf_split']}"
        entries.append(
            EvalResultEntry(
                dataset_id=hub.repository,
                task_id=result["evaluation_name"],
                value=score["score"],
                dataset_revision=hub.commit,
                date=of.record["evaluation_timestamp"],
                notes=f"{description}, mean of {n_seeds} seeds{over}; {of.record['source_metadata']['source_name']}"
                + (f"; {settings}" if settings else ""),
            )
        )
    if entries and not of.samples[0].entry.is_baseline:  # a trivial baseline has no page
        _, collection, _, model, _ = of.place.split("/")
        yield folder / "hub" / model / ".eval_results" / f"{collection}.yaml", entries


def _write_yaml(file: Path, entries: Sequence[Any]) -> None:
    from huggingface_hub import eval_result_entries_to_yaml
    from ruamel.yaml import YAML

    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part, part.open("w", encoding="utf-8") as text:
        YAML(typ="safe", pure=True).dump(eval_result_entries_to_yaml(list(entries)), text)


def _write_views(store: Store, folder: Path, done: Publication) -> None:
    """Writes the views that have rows as parquet, without paths and host names; rows in an order of their content."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(exist_ok=True)
    hosts = frozenset(row["host"] for row in store.query(queries.HOSTS))
    for name, sql in queries.ROWS_OF_VIEWS.items():
        rows = [
            {key: scrub_text(cell, hosts) if isinstance(cell, str) else cell for key, cell in row.items()}
            for row in store.query(sql)
        ]
        if rows:
            rows.sort(key=lambda row: [(cell is not None, str(type(cell)), cell) for cell in row.values()])
            with atomic_write(folder / f"{name}.parquet") as part:
                parquet.write_table(pa.Table.from_pylist(rows), part)
            done.views += 1
