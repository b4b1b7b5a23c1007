"""One true line for each way in which the hub can fail; tests/hub makes the errors with a server."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hashbench.common.errors import InputError
from hashbench.common.hub import answering, hub_error, meaning


def error(name: str, *bases: type[Exception], status: int | None = None, text: str = "text") -> Exception:
    """An error of a class that is known by name alone."""
    made: Exception = type(name, bases or (Exception,), {})(text)
    if status is not None:
        made.response = SimpleNamespace(status_code=status)  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize(
    ("failure", "what", "remedy"),
    [
        (error("OfflineModeIsEnabled", ConnectionError), "HF_HUB_OFFLINE is set", "unset HF_HUB_OFFLINE"),
        (error("RepositoryNotFoundError"), "has nothing of this name", "look for it on the hub"),
        (error("GatedRepoError", type("RepositoryNotFoundError", (OSError,), {})), "ask for consent", "hf auth login"),
        (error("RevisionNotFoundError"), "no such commit or branch", "name another revision"),
        (error("HfHubHTTPError", OSError, status=429), "too many requests", "wait some minutes"),
        (error("HfHubHTTPError", OSError, status=503), "it answers 503", "try again later"),
        (error("HfHubHTTPError", OSError, status=401), "made private", "look for it"),
        (error("HfHubHTTPError", OSError, status=404), r"what answers at .* refuses \(404\)", "whether that is a hub"),
        (error("RemoteEntryNotFoundError", status=404), "a file of it is not on the hub", "look at its files"),
        (error("ReadError", text="reset by peer"), r"the connection to the hub broke off \(reset by peer\)", "again"),
        (
            error("ConnectError", type("TransportError", (Exception,), {})),
            "cannot be reached",
            "connect to the network",
        ),
        (error("ArrowInvalid", ValueError), "a file of it is damaged", "run the command again"),
        (OSError(28, "No space left on device"), r"cannot be read \(.*No space left on device\)", "use other data"),
    ],
    ids=lambda value: value.__class__.__name__ if isinstance(value, Exception) else "",
)
def test_what_an_error_means(failure: Exception, what: str, remedy: str) -> None:
    with pytest.raises(InputError, match=f"^hub some/name: .*{what}.*; .*{remedy}"):
        raise hub_error("hub some/name", failure)


def test_the_cause_counts_where_it_says_more() -> None:
    outer = error("DatasetGenerationError")
    outer.__cause__ = error("ArrowInvalid", ValueError)
    assert meaning(outer)[0] == "a file of it is damaged"


def test_errors_of_the_packages_are_turned_and_others_are_not() -> None:
    with pytest.raises(InputError, match="hub x: cannot be read"), answering(lambda e: hub_error("hub x", e)):
        raise ValueError("odd")
    transport = error("Odd")
    type(transport).__module__ = "httpx2.errors"
    with pytest.raises(InputError), answering(lambda e: hub_error("hub x", e)):
        raise transport
    with pytest.raises(ZeroDivisionError), answering(lambda e: hub_error("hub x", e)):
        raise ZeroDivisionError


def test_an_input_error_passes_as_it_is() -> None:
    with pytest.raises(InputError, match="^mine$"), answering(lambda e: hub_error("hub x", e)):
        raise InputError("mine")
