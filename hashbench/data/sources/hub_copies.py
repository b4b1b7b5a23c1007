"""Which copy of a data set on the hub is read: a commit, of main or of the parquet files that the hub makes of scripts.

The package `datasets` refuses loading scripts. The hub converts many of them to parquet on another branch, as
CONFIG/SPLIT/0000.parquet, or CONFIG/partial-SPLIT/... where it stopped after the first gigabytes. So main is read where
it holds data files, else that branch where it is whole.

What goes wrong at the hub becomes one line that is true: where, what, and what to do about it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from hashbench.common.errors import InputError, NotAtHand, first_line
from hashbench.data.sources.fingerprints import cache_room, digest, read_note, write_note

REACH_SECONDS = 10.0  # after which the hub counts as out of reach
CONVERTED = "refs/convert/parquet"  # the branch
PARTIAL = "partial-"  # before the name of a split
OTHER_DATA = "use other data: --data FOLDER, or --data builtin"
AGAIN = "run the command again: what arrived whole is kept"
UNREACHABLE = "cannot be reached"
GONE = "the hub has nothing of this name; it was renamed, removed or made private"
# (class, what it means, what to do): the first that is among the error, its causes and their base classes counts. By
# name, since the packages they are of (huggingface_hub, datasets, pyarrow, an HTTP library) are heavy and vary.
MEANINGS = (
    ("OfflineModeIsEnabled", "HF_HUB_OFFLINE is set, and it was not fetched before", "unset HF_HUB_OFFLINE"),
    ("GatedRepoError", "its authors ask for consent first", "agree on its page, then log in: hf auth login"),
    ("RevisionNotFoundError", "the hub has no such commit or branch of it", f"name another revision, or {OTHER_DATA}"),
    ("RepositoryNotFoundError", GONE, f"look for it on the hub, or {OTHER_DATA}"),
    (
        "DataFilesNotFoundError",
        "the hub has no files of this config and split",
        "ask what is there: hashbench data check",
    ),
    (
        "RemoteEntryNotFoundError",
        "a file of it is not on the hub",
        f"ask what is there: hashbench data check; or {OTHER_DATA}",
    ),
    ("ArrowInvalid", "a file of it is damaged", f"run the command again; where that does not help, {OTHER_DATA}"),
)
STATUSES = {
    401: (GONE, f"look for it on the hub, or {OTHER_DATA}"),
    403: ("the hub refuses access", "log in with an account that has it: hf auth login"),
    429: ("the hub refuses for now, since it got too many requests", "wait some minutes, or log in: hf auth login"),
}
REFUSED, SERVER_ERROR = 400, 500
BROKEN = {"ReadError", "RemoteProtocolError", "ConnectionResetError", "IncompleteRead"}
NOT_REACHED = {"TransportError", "ConnectionError", "TimeoutError", "LocalEntryNotFoundError"}
# Their errors are neither OSError nor ValueError
PACKAGES = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "aiohttp", "datasets", "huggingface_hub")


@dataclass(frozen=True)
class HubCopy:
    """A copy of a data set on the hub: a commit of main, or of the branch of converted files."""

    revision: str  # commit
    converted: bool = False  # of the branch of converted files
    files: tuple[str, ...] = ()  # of that branch, where it was listed

    def files_of(self, config: str | None, split: str, where: str) -> str:
        """The glob pattern of a split's converted files.

        Raises:
            InputError: there are none of this config and split, or the hub converted a part only.
        """
        folders = {file.rpartition("/")[0] for file in self.files}
        if config is None:
            configs = {folder.partition("/")[0] for folder in folders}
            config = configs.pop() if len(configs) == 1 else "default"
        if f"{config}/{PARTIAL}{split}" in folders:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and of which the hub converted the "
                f"first part only; {OTHER_DATA}"
            )
        if folders and f"{config}/{split}" not in folders:
            raise InputError(f"{where}: the hub has no {config}/{split} of it; it has {', '.join(sorted(folders))}")
        return f"{config}/{split}/*.parquet"


def known_copy(repository: str) -> HubCopy | None:
    """The copy of a data set that was resolved before, None where none was. No request is made."""
    remembered = read_note(_note(repository))
    if remembered is None or "converted" not in remembered:
        return None
    return HubCopy(str(remembered["revision"]), bool(remembered["converted"]), tuple(remembered["files"]))


def resolved_copy(repository: str) -> HubCopy:
    """The copy whose commit was the newest when this data set was first requested.

    Raises:
        InputError: the hub is out of reach, has no such data set, or only a script of it.
    """
    remembered = known_copy(repository)
    if remembered is not None:
        return remembered
    copy = _newest(repository)
    note = {"repository": repository, "revision": copy.revision, "converted": copy.converted, "files": copy.files}
    write_note(_note(repository), note)
    return copy


def data_set_info(repository: str, revision: str | None = None) -> Any:
    """The hub's facts about a data set: its commit (`sha`), name (`id`) and files (`siblings`)."""
    hub = import_package("huggingface_hub")
    return hub.HfApi().dataset_info(repository, revision=revision, timeout=REACH_SECONDS)


def import_package(name: str) -> ModuleType:
    """A package that only the hub needs. Raises InputError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"hub: the package {name!r} is not installed; run: pip install {name}") from error


def _newest(repository: str) -> HubCopy:
    where = f"hub {repository}"
    with answering(partial(hub_error, where)):
        main = data_set_info(repository)
        # A file of this name is what `datasets` takes for a script
        if f"{repository.rpartition('/')[2]}.py" not in [file.rfilename for file in main.siblings]:
            return HubCopy(str(main.sha))
        try:
            converted = data_set_info(repository, CONVERTED)
        except import_package("huggingface_hub.errors").RevisionNotFoundError:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and the hub has no converted "
                f"files of it; {OTHER_DATA}"
            ) from None
    files = tuple(file.rfilename for file in converted.siblings if file.rfilename.endswith(".parquet"))
    return HubCopy(str(converted.sha), converted=True, files=files)


def _note(repository: str) -> Path:
    return cache_room("hub") / f"{digest(repository)}.json"


def hub_error(where: str, error: BaseException) -> InputError:
    """The error as an InputError of one line that begins with `where`."""
    what, remedy = meaning(error)
    return kind_of_error(error)(f"{where}: {what}; {remedy}")


def meaning(error: BaseException) -> tuple[str, str]:
    """The meaning of an error of the hub, or of the network before it, and the remedy."""
    chain = list(_causes(error))
    classes = {base.__name__ for cause in chain for base in type(cause).__mro__}
    for name, what, remedy in MEANINGS:
        if name in classes:
            return what, remedy
    for cause in chain:
        status = getattr(getattr(cause, "response", None), "status_code", 0)
        if status in STATUSES:
            return STATUSES[status]
        if status >= SERVER_ERROR:
            return f"the hub has a fault of its own (it answers {status})", f"try again later, or {OTHER_DATA}"
        if status >= REFUSED:  # the class of the error named the hub's own refusals
            return f"what answers at {endpoint()} refuses ({status})", f"look whether that is a hub, or {OTHER_DATA}"
    reason = first_line(chain[-1] if chain[-1].args else error)[:160]
    if classes & BROKEN:
        return f"the connection to the hub broke off ({reason})", AGAIN
    if classes & NOT_REACHED:
        return f"the hub at {endpoint()} {UNREACHABLE} ({reason})", f"connect to the network, or {OTHER_DATA}"
    return f"cannot be read ({first_line(error)[:200]})", OTHER_DATA


def kind_of_error(error: BaseException) -> type[InputError]:
    """NotAtHand where no answer came at all, else InputError."""
    return NotAtHand if is_unreachable(error) else InputError


def is_unreachable(error: BaseException) -> bool:
    """True where no answer came at all, so that requests for other data sets are of no use."""
    what = meaning(error)[0]
    return UNREACHABLE in what or what == MEANINGS[0][1]


def endpoint() -> str:
    """The hub's address, as `huggingface_hub` reads it."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


@contextmanager
def answering(as_input_error: Callable[[Exception], InputError]) -> Iterator[None]:
    """Turns the errors of the hub, and of the network before it, into `as_input_error(error)`."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:  # most of the hub's own
        raise as_input_error(error) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in PACKAGES:
            raise
        raise as_input_error(error) from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__
