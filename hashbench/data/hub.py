"""Tables on the Hugging Face hub. A revision left open is resolved once. Corpora stand in hub.json."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import ModuleType

from hashbench.data.files import Cells
from hashbench.data.fingerprints import cache_folder, digest, read_json, write_json
from hashbench.errors import InputError

REACH_SECONDS = 10.0  # after which the hub counts as out of reach


@dataclass(frozen=True)
class HubTable:
    """One split of a data set on the hub. `revision` None: the newest one when it was first asked for."""

    repository: str
    config: str | None
    split: str
    revision: str | None = None
    # (name here, the columns it is made of there)
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def where(self) -> str:
        """Repository, config and split, as messages name them."""
        return f"hub {self.repository}{f' ({self.config})' if self.config else ''} {self.split}"

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the names and the commit."""
        columns = [f"{name}={'+'.join(parts)}" for name, parts in self.columns]
        return digest("hub", self.repository, self.config or "", self.split, self.resolved_revision(), *columns)

    def n_rows(self) -> int | None:
        """None: only reading would tell."""
        return None

    def problem(self) -> str:
        """What keeps the table from being read, or nothing."""
        return _problem(self.repository, self.revision)

    def known_revision(self) -> str | None:
        """The commit that is read; None where it was left open and never asked for. The hub is not asked now."""
        if self.revision is not None:
            return self.revision
        remembered = read_json(self._note())
        return str(remembered["revision"]) if isinstance(remembered, dict) else None

    def resolved_revision(self) -> str:
        """The commit that is read; one left open is asked for once and remembered."""
        known = self.known_revision()
        if known is not None:
            return known
        revision = _newest_revision(self.repository)
        write_json(self._note(), {"repository": self.repository, "revision": revision})
        return revision

    def _note(self) -> Path:
        return cache_folder() / "hub" / f"{digest(self.repository)}.json"

    def read(self, columns: Sequence[str]) -> dict[str, Cells]:
        """The columns asked for, all of their cells in memory; one made of several has their texts in turn."""
        table = self._load(streaming=False)
        renamed = dict(self.columns)
        made_of = {name: renamed[name] if name in renamed else (name,) for name in columns}
        missing = [part for parts in made_of.values() for part in parts if part not in table.column_names]
        if missing:
            raise InputError(f"{self.where}: no column {missing[0]!r}; it has {', '.join(table.column_names)}")
        return {name: joined([list(table[part]) for part in parts]) for name, parts in made_of.items()}

    def stream(self, column: str) -> Iterator[object]:
        """The cells of one column, read as a stream: never more than a piece is in memory."""
        for row in self._load(streaming=True):
            yield row[column]

    # Without a type: it is of a package that is imported here
    def _load(self, *, streaming: bool):  # type: ignore[no-untyped-def]
        datasets = import_package("datasets")
        revision = self.resolved_revision()
        try:
            with nullcontext() if reach(self.repository, revision) else offline():
                return datasets.load_dataset(
                    self.repository, self.config, split=self.split, revision=revision, streaming=streaming
                )
        # No network, unknown name or split, a data set by script
        except (OSError, ValueError, RuntimeError) as error:
            raise _unreachable(self.where, error) from error


def joined(columns: Sequence[Cells]) -> Cells:
    """One column as it is; several as texts with a space between, empty ones left out.

    >>> joined([["Why?", "How?"], ["", "So."]])
    ['Why?', 'How? So.']
    """
    if len(columns) == 1:
        return columns[0]
    return [" ".join(str(cell) for cell in cells if cell) for cells in zip(*columns, strict=True)]


def reach(repository: str, revision: str | None) -> bool:
    """Whether the hub answers for this data set."""
    hub = import_package("huggingface_hub")
    try:
        hub.HfApi().dataset_info(repository, revision=revision, timeout=REACH_SECONDS)
    except Exception:  # whatever the reason: the caller says what follows
        return False
    return True


@contextmanager
def offline() -> Iterator[None]:
    """Only what was fetched before, at once: `datasets` by itself tries an unreachable hub for half a minute."""
    settings = [vars(importlib.import_module(name)) for name in ("datasets.config", "huggingface_hub.constants")]
    before = [values["HF_HUB_OFFLINE"] for values in settings]
    try:
        for values in settings:
            values["HF_HUB_OFFLINE"] = True
        yield
    finally:
        for values, was_offline in zip(settings, before, strict=True):
            values["HF_HUB_OFFLINE"] = was_offline


@dataclass(frozen=True)
class HubPlace:
    """Where something stands on the hub."""

    repository: str
    config: str | None = None
    revision: str | None = None
    # Of its splits, where they are not those of the task
    rows: Mapping[str, int] = field(default_factory=dict)
    # (name here, the columns it is made of there)
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()


def hub_corpora() -> dict[str, HubPlace]:
    """The corpora that are read from the hub by name."""
    text = resources.files("hashbench.data").joinpath("hub.json").read_text("utf-8")
    return {name: HubPlace(**entry) for name, entry in json.loads(text).items()}


@lru_cache(maxsize=16)  # for a list of what there is; reading asks again
def _problem(repository: str, revision: str | None) -> str:
    return "" if reach(repository, revision) else "the hub is out of reach, or has no such data set"


def _newest_revision(repository: str) -> str:
    hub = import_package("huggingface_hub")
    with answering(lambda error: _unreachable(f"hub {repository}", error)):
        info = hub.HfApi().dataset_info(repository, timeout=REACH_SECONDS)
    return str(info.sha)


@contextmanager
def answering(unreachable: Callable[[Exception], InputError]) -> Iterator[None]:
    """Turns the errors of the hub, and of the network before it, into `unreachable(error)`."""
    try:
        yield
    except (OSError, ValueError) as error:  # the hub's own errors are OSError or ValueError
        raise unreachable(error) from error
    # The transport's errors come from whichever HTTP library the hub package uses
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2", "requests"):
            raise
        raise unreachable(error) from error


def _unreachable(where: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split())[:120]
    return InputError(
        f"{where}: cannot be opened; either the hub is out of reach or it has no data set of this name ({reason}); "
        "use other data: --data FOLDER, or --data builtin"
    )


def import_package(name: str) -> ModuleType:
    """A package that only the hub needs. Raises InputError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"hub: the package {name!r} is not installed; run: pip install {name}") from error
