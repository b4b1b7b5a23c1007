"""The one door to the Hugging Face hub: its packages, files fetched into its own cache, what its errors mean.

What goes wrong at the hub becomes one line that is true: where, what, and what to do about it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from hashbench.common.errors import InputError, NotAtHand, first_line
from hashbench.common.extras import required

REACH_SECONDS = 10.0  # after which the hub counts as out of reach
OTHER_DATA = "use other data: --data FOLDER, or --data builtin"
AGAIN = "run the command again: what arrived whole is kept"
UNREACHABLE, UNREADABLE = "cannot be reached", "cannot be read"
GONE = "the hub has nothing of this name; it was renamed, removed or made private"
# (class, what it means, what to do): the first that is among the error, its causes and their base classes counts. By
# name, since their packages (huggingface_hub, datasets, pyarrow, an HTTP library) are heavy and vary.
MEANINGS = (
    ("OfflineModeIsEnabled", "HF_HUB_OFFLINE is set, and it was not fetched before", "unset HF_HUB_OFFLINE"),
    ("GatedRepoError", "its authors ask for consent first", "agree on its page, then log in: hf auth login"),
    ("RevisionNotFoundError", "the hub has no such commit or branch of it", f"name another revision, or {OTHER_DATA}"),
    ("RepositoryNotFoundError", GONE, f"look for it on the hub, or {OTHER_DATA}"),
    (
        "DataFilesNotFoundError",
        "the hub has no files of this config and split",
        f"look at its files on the hub, or {OTHER_DATA}",
    ),
    (
        "RemoteEntryNotFoundError",
        "a file of it is not on the hub",
        f"look at its files on the hub, or {OTHER_DATA}",
    ),
    ("ArrowInvalid", "a file of it is damaged", f"run the command again; where that does not help, {OTHER_DATA}"),
)
STATUSES = {
    401: (GONE, f"look for it on the hub, or {OTHER_DATA}"),
    403: ("the hub refuses access", "log in with an account that has it: hf auth login"),
    429: ("the hub refuses for now, since it got too many requests", "wait some minutes, or log in: hf auth login"),
}
# In the error of `datasets`, which hides the hub's own behind it
GATED_TEXT = "is a gated dataset"
REFUSED, SERVER_ERROR = 400, 500
BROKEN = {"ReadError", "RemoteProtocolError", "ConnectionResetError", "IncompleteRead"}
NOT_REACHED = {"TransportError", "ConnectionError", "TimeoutError", "LocalEntryNotFoundError"}
# Their errors are neither OSError nor ValueError
PACKAGES = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "aiohttp", "datasets", "huggingface_hub")


def import_package(name: str) -> ModuleType:
    """A package that only the hub needs. Raises NotInstalled where it is missing."""
    # It warns of each card without a head, which is no fault of the user's
    logging.getLogger("huggingface_hub.repocard").setLevel(logging.ERROR)
    return required(name)


def fetched(repository: str, file: str, revision: str | None, kind: str | None = None) -> Path:
    """A file of a model, or of another kind of repository ("dataset"), in the hub's own cache; downloaded if needed.

    Raises the hub's errors; `answering` turns them into InputErrors.
    """
    hub = import_package("huggingface_hub")
    return Path(hub.hf_hub_download(repository, file, revision=revision, **({"repo_type": kind} if kind else {})))


def hub_error(where: str, error: BaseException, other: str = OTHER_DATA) -> InputError:
    """The error as an InputError of one line that begins with `where`; `other`: which data may take their place."""
    what, remedy = meaning(error)
    return kind_of_error(error)(f"{where}: {what}; {remedy.replace(OTHER_DATA, other)}")


def not_found(problem: str, remedy: str) -> Callable[[Exception], InputError]:
    """For `answering`, where a name may be a local path too: an error as `problem`, what it means, and `remedy`."""

    def as_input_error(error: Exception) -> InputError:
        what = meaning(error)[0]
        subject = "the hub's copy " if what.startswith(UNREADABLE) else ""
        return kind_of_error(error)(f"{problem}, and {subject}{what}; {remedy}")

    return as_input_error


def meaning(error: BaseException) -> tuple[str, str]:
    """The meaning of an error of the hub, or of the network before it, and the remedy."""
    chain = list(_causes(error))
    classes = {base.__name__ for cause in chain for base in type(cause).__mro__}
    classes |= {"GatedRepoError"} if any(GATED_TEXT in str(cause) for cause in chain) else set()
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
    return f"{UNREADABLE} ({first_line(error)[:200]})", OTHER_DATA


def kind_of_error(error: BaseException) -> type[InputError]:
    """NotAtHand where no answer came at all, else InputError."""
    return NotAtHand if is_unreachable(error) else InputError


def is_unreachable(error: BaseException) -> bool:
    """True where no answer came at all, so that requests for other data sets are useless."""
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
