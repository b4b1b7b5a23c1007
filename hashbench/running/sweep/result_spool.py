"""Results that are ready while the database is away: kept on disk under their token, handed in when it answers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.checksums import Damaged, is_listed, remove, sealed_write, set_aside
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.store.engine import Store
from hashbench.store.finishing import finish, knows
from hashbench.store.queue import ClaimedRun, LeaseLost
from hashbench.store.result import Artifact, MetricRow, Predictions, Result

ABOUT = "about"  # the array of a file that holds everything but outputs and targets, as JSON
ARRAYS = ("outputs", "targets")


class ResultSpool:
    """The kept results of one cache folder, one file each; they may belong to several databases."""

    def __init__(self, artifacts: ArtifactFolder) -> None:
        self._artifacts, self._folder = artifacts, artifacts.cache / "finished"

    def keep(self, held: ClaimedRun, result: Result) -> None:
        """Writes a result, whole or not at all. Raises OSError where the disk has no room."""
        arrays = {f"{name}-{n}": vars(scored)[name] for n, scored in enumerate(result.predictions) for name in ARRAYS}
        with sealed_write(self._path(held.token)) as part, part.open("wb") as file:
            # mypy mistakes the arrays for allow_pickle
            np.savez_compressed(file, **{ABOUT: np.array(_as_text(held, result))}, **arrays)  # type: ignore[arg-type]

    def drop(self, token: str) -> None:
        """Forgets a result, if it was kept."""
        remove(self._path(token))

    def hand_in(self, store: Store) -> list[str]:
        """Stores all kept results that belong to a database; ids of their runs. What comes too late is dropped."""
        taken = []
        for path in sorted(self._folder.glob("*.npz")):
            read = _read(path)
            if read is None or not knows(store, read[0]):
                continue
            held, result = read
            try:
                finish(store, held, result)
            except LeaseLost:  # another attempt has taken over
                pass
            else:
                taken.append(held.run_id)
                self._artifacts.remove(self._artifacts.running(held.run_id))
            self.drop(held.token)
        return taken

    def _path(self, token: str) -> Path:
        return self._folder / f"{token}.npz"


def _as_text(held: ClaimedRun, result: Result) -> str:
    whole = {"held": asdict(held), **vars(result)}
    whole["metrics"] = [asdict(row) for row in result.metrics]
    whole["artifacts"] = [asdict(file) for file in result.artifacts]
    whole["predictions"] = [
        {name: value for name, value in vars(scored).items() if name not in ARRAYS} for scored in result.predictions
    ]
    whole["notes"] = dict(result.notes)
    return json.dumps(whole)


def _read(path: Path) -> tuple[ClaimedRun, Result] | None:
    """The claim and the result in a file; None where another process has just dropped it, or where it is damaged."""
    try:
        is_listed(path)
        with np.load(path, allow_pickle=False) as arrays:
            about: dict[str, Any] = json.loads(str(arrays[ABOUT]))
            predictions = [
                Predictions(**fields, **{name: arrays[f"{name}-{n}"] for name in ARRAYS})
                for n, fields in enumerate(about["predictions"])
            ]
    except FileNotFoundError:
        return None
    except Damaged as damage:
        set_aside(path, damage, "its run is done again")
        return None
    held = about.pop("held")
    parts = {
        "metrics": [MetricRow(**row) for row in about["metrics"]],
        "artifacts": [Artifact(**file) for file in about["artifacts"]],
        "predictions": predictions,
    }
    return ClaimedRun(**held | {"needs": tuple(held["needs"])}), Result(**about | parts)
