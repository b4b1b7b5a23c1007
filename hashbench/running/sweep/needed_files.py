"""Files that runs read: those of the runs that they need, here or in the shared folder, and prepared corpora."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from hashbench.common.checksums import FileSum
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.runs.artifacts import ArtifactFolder, sum_of
from hashbench.running.runs.base import Workplace, kind_of
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.executors.registry import find_shard_workers
from hashbench.running.sweep.plan import Plan
from hashbench.store.engine import Store
from hashbench.store.planning import Run
from hashbench.store.result import files_of_all_attempts


def needs_read_by(run: Run, place: Workplace) -> list[Run]:
    """The runs whose files a run reads."""
    return [place.runs[need_id] for need_id in run.needs] if kind_of(run).reads_needs else []


def gone_files(runs: Sequence[Run], done: Collection[str], artifacts: ArtifactFolder) -> list[Run]:
    """The finished runs whose files are not on this machine although runs still to be done read them.

    They are made again first, with what they read themselves.
    """
    by_id = {run.id: run for run in runs}
    looked_at: dict[str, Run] = {}
    reading = [run for run in by_id.values() if run.id not in done]
    while reading:
        reader = reading.pop()
        for need_id in reader.needs if kind_of(reader).reads_needs else ():
            need = by_id[need_id]
            if need_id in done and need_id not in looked_at and not _is_here(need, artifacts):
                looked_at[need_id] = need
                reading.append(need)
    return [run for run in by_id.values() if run.id in looked_at]


def _is_here(need: Run, artifacts: ArtifactFolder) -> bool:
    sets = kind_of(need).left_files(need, artifacts)
    return not sets or any(all(path.is_file() for path in files.values()) for files in sets)


def is_at_hand(need: Run, store: Store, place: Workplace) -> bool:
    """True when the files that a finished run left are here, if need be fetched from the shared folder."""
    sets = kind_of(need).left_files(need, place.artifacts)
    if not sets:
        return True
    sums: dict[str, list[FileSum]] = defaultdict(list)  # by the place below the root
    for file in files_of_all_attempts(store, need.id):
        sums[file.url].append(sum_of(file))
    root = place.artifacts.root

    def has(path: Path) -> bool:
        kept = path.is_relative_to(root)  # else the store does not know it
        return place.artifacts.has(path, sums[path.relative_to(root).as_posix()] if kept else [])

    return any(all(map(has, files.values())) for files in sets)


def prepared_corpora(planned: Plan, note: Callable[[str], None]) -> Iterator[Corpus]:
    """Yields each corpus that a model of the plan reads, once, as soon as it is ready; `note` gets progress lines."""
    workers = find_shard_workers(planned.resolved.experiment.executor)
    materials = Materials(planned.resolved.sources, cache_folder(), workers=workers, progress=note)
    seen: set[str] = set()
    for model in planned.resolved.models.values():
        if model.pretrain.streaming:
            note(f"{model.label} reads its corpora as a stream: nothing to prepare")
            continue
        note(f"preparing for {model.label} ...")
        corpus = materials.texts(model).corpus
        if corpus is not None and str(corpus.folder) not in seen:
            seen.add(str(corpus.folder))
            yield corpus
