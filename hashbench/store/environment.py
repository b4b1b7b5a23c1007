"""The environment of an attempt (host, commit, packages, hardware), and the canonical form of stored JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sqlalchemy.engine import Connection

from hashbench.store.engine import Store
from hashbench.store.schema import environment

LEFT_OUT = "(left out)"  # in place of a text that is not passed on


@dataclass(frozen=True)
class Environment:
    """The host, commit, packages and hardware of an attempt. Equal ones are stored once."""

    host: str = ""
    git_commit: str = ""
    git_diff: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    hardware: Mapping[str, Any] = field(default_factory=dict)
    hardware_name: str = ""
    git_tree: str = ""  # of the package in that commit, the same after a rebase

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Environment:
        """The environment in a row of table environment."""
        parsed = {name: json.loads(row[name]) for name in ("packages", "hardware")}
        return cls(**{column.name: row[column.name] for column in fields(cls)} | parsed)

    def without_diff(self) -> Environment:
        """A copy without the text of the uncommitted change; LEFT_OUT shows that there was one."""
        return replace(self, git_diff=LEFT_OUT if self.git_diff else "")

    def row(self) -> dict[str, str]:
        """The columns of table environment; the id is the sha256 of the rest."""
        values = {name: value if isinstance(value, str) else as_json(value) for name, value in vars(self).items()}
        return {"id": hashlib.sha256(as_json(values).encode()).hexdigest(), **values}


def as_json(value: object) -> str:
    """Canonical JSON: sorted keys, no blanks. NaN is refused, since no database reads it back."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def store_environment(store: Store, connection: Connection, place: Environment | None) -> str | None:
    """Stores an environment unless an equal one is stored; returns its id, or None for None."""
    if place is None:
        return None
    row = place.row()
    connection.execute(store.insert_new(environment), row)
    return row["id"]
