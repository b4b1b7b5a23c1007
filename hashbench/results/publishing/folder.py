"""A folder of results to pass on: records of Every Eval Ever, and files for model pages of the hub.

    data/COLLECTION/ORGANISATION/MODEL/ID.json            an aggregate record; COLLECTION: hashbench_EXPERIMENT
    hub/MODEL/.eval_results/COLLECTION.yaml               scores on data sets of the hub, for the model's folder there

Ids are of the content, so that a second publication of the same results writes the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.common.atomic import atomic_write, replace_text
from hashbench.common.errors import InputError, near_match
from hashbench.common.showing import decimal_text
from hashbench.results.publishing.records import Aggregate, aggregates, checked_organisation
from hashbench.results.read.measured import Measured, measure
from hashbench.results.read.samples import Evidence
from hashbench.results.tables.request import DRAWS
from hashbench.store.engine import Store
from hashbench.store.status import experiment_names


@dataclass
class Publication:
    """Numbers of files that were written, and notes on what was left out."""

    records: int = 0
    hub_files: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> str:
        """The numbers in words."""
        numbers = {"record": self.records, "file of the hub": self.hub_files}
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
    store: Store, folder: Path, organisation: str, experiments: Sequence[str] = (), *, draws: int = DRAWS
) -> Publication:
    """Writes the results of some experiments (none named: of all) below a folder, which is made.

    `draws`: of examples, for intervals; tables take the default. Raises InputError for an unknown experiment, a name
    that is none of an organisation, and a folder with other files, or in which no file can be written.
    """
    checked_organisation(organisation)
    names = list(dict.fromkeys(experiment_names(store)))
    for name in experiments:
        if name not in names:
            raise InputError(f"{store.name}: no experiment {name!r}{near_match(name, names) or '; see hashbench list'}")
    done = Publication()
    try:
        _check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written: set[Path] = set()
        for name in experiments or names:
            written |= set(_experiment(measure(store, name), folder, organisation, draws, done))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder") from error
    if older := sorted({path for path in (folder / "data").glob("*/*/*/*.json")} - written):
        done.note(f"{len(older)} files of other results are in {folder / 'data'} and stay, as {older[0].name}")
    if not done.records:
        done.note("no experiment has a score yet, so there is no record")
    elif not done.hub_files:
        done.note(
            "no file for the hub: these are of tasks whose data came from the hub (data: hub), which none did here"
        )
    return done


def _check_folder(folder: Path) -> None:
    """Raises InputError for a folder that has files, hidden ones apart, but no earlier publication."""
    others = sorted(path.name for path in folder.glob("[!.]*"))
    earlier = ("data/hashbench_*", "hub/*/.eval_results")
    if others and not any(True for pattern in earlier for _ in folder.glob(pattern)):
        raise InputError(f"{folder}: has other files, as {others[0]}, and no results; name a new or an empty folder")


def _experiment(measured: Measured, folder: Path, organisation: str, draws: int, done: Publication) -> Iterator[Path]:
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
        place = folder / of.place
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_text(place, json.dumps(of.record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        done.records += 1
        yield place
        for file, entries in _hub_entries(of, folder):
            of_hub.setdefault(file, []).extend(entries)
    for file, entries in of_hub.items():
        _write_yaml(file, entries)
    done.hub_files += len(of_hub)


def _hub_entries(of: Aggregate, folder: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The file for a model's page on the hub with an entry for each task whose data came from the hub."""
    from huggingface_hub import EvalResultEntry

    entries, settings = [], of.samples[0].entry.settings
    for result, hub in zip(of.record["evaluation_results"], of.hub, strict=True):
        if hub is None:
            continue
        score = result["score_details"]
        interval = score.get("uncertainty", {}).get("confidence_interval")
        low, high = (decimal_text(interval[end], 4) if interval else "" for end in ("lower", "upper"))
        over = f", 95 % interval over examples {low} to {high}" if interval else ""
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
