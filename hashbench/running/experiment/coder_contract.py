"""The promises of every coder (hashbench/models/coders/base.py), checked on a user-defined one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hashbench.common.registry import own_name
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.text.types import TypeTable
from hashbench.running.experiment.contract import TYPES, Finding, PromiseBroken, findings

# For another process, in which Python's hash() has another seed: prints the codes of types that it reads from stdin.
ELSEWHERE = """
import json, sys
from pathlib import Path
from typing import NamedTuple
from hashbench.models.coders.base import Coder
from hashbench.running.experiment.coder_contract import fitted
from hashbench.common.registry import own_name
strings = json.load(sys.stdin)
name = own_name(sys.argv[1], Path(), Coder, "coder")
print(json.dumps(fitted(name).encode(strings).tolist()))
"""
SOME = ["play", "plays", "naïve", "日本語", "🙂"]


class TriedCoder(NamedTuple):
    """A coder to check, and the reference (FILE.py:Class) by which another process loads it."""

    reference: str
    coder: Coder


def coder_contract(reference: str) -> Iterator[Finding]:
    """Yields each promise with its outcome for a coder FILE.py:Class; the first alone where it cannot be made."""
    name = own_name(reference, Path(), Coder, "coder")

    def make() -> TriedCoder:
        coder = fitted(name)
        coder.encode(["play"])
        return TriedCoder(reference, coder)

    return findings("it can be made, fitted and asked for a code", make, PROMISES)


def fitted(name: str) -> Coder:
    """The coder of a name with its default arguments, fitted on TYPES if it must be fitted."""
    coder = make_coder(name)
    if coder.needs_fit:
        coder.fit(_types())
    return coder


def _types() -> TypeTable:
    return TypeTable.from_counts({string: 1 for string in TYPES if string})


def _shape(it: TriedCoder) -> None:
    coder = it.coder
    codes = coder.encode(TYPES)
    wanted = (len(TYPES), coder.width)
    if codes.shape != wanted or codes.dtype != np.dtype(coder.dtype):
        raise PromiseBroken(
            f"codes are {codes.shape} of {codes.dtype}, not {wanted} of {np.dtype(coder.dtype)}; return (n, width) of "
            "the class's dtype"
        )
    if coder.encode([]).shape != (0, coder.width):
        raise PromiseBroken("no strings give no (0, width); reshape the array")


def _alone(it: TriedCoder) -> None:
    coder = it.coder
    together = coder.encode(TYPES)
    for string, code in zip(TYPES, together, strict=True):
        if not np.array_equal(coder.encode([string])[0], code):
            raise PromiseBroken(f"the code of {string[:20]!r} depends on its batch; compute it from the string alone")


def _threads(it: TriedCoder) -> None:
    coder = it.coder
    table = _types()
    strings = [table.string(number) for number in range(len(table))]
    codes = coder.encode(strings)
    # Codes of another width break all later checks; `_shape` has reported the width.
    if codes.shape == (len(table), coder.width) and not np.array_equal(coder.encode_types(table), codes):
        raise PromiseBroken("several threads give other codes; keep nothing of a call in the object")


def _elsewhere(it: TriedCoder) -> None:
    command = [sys.executable, "-c", ELSEWHERE, it.reference]
    done = subprocess.run(command, input=json.dumps(SOME), capture_output=True, text=True, check=True)
    if json.loads(done.stdout) != it.coder.encode(SOME).tolist():
        raise PromiseBroken("another process has other codes; Python's hash() differs there, use hashlib or zlib")


def _restored(it: TriedCoder) -> None:
    coder = it.coder
    other = make_coder(coder.name, **{key: value for key, value in coder.recipe().items() if key != "name"})
    if coder.needs_fit:
        other.restore(coder.state())
    if not np.array_equal(other.encode(TYPES), coder.encode(TYPES)):
        raise PromiseBroken("made anew from recipe() and state() it gives other codes; keep all that codes depend on")
    if other.fingerprint() != coder.fingerprint():
        raise PromiseBroken("made anew it has another fingerprint; recipe() and state() must not change")


def _named(it: TriedCoder) -> None:
    coder = it.coder
    recipe = json.loads(json.dumps(coder.recipe()))
    if "name" not in recipe or recipe["name"] != coder.name:
        raise PromiseBroken("recipe() lacks self.name, by which an edited file is another coder; put it in")


def _on_device(it: TriedCoder) -> None:
    coder = it.coder
    if not np.array_equal(coder.encode_few(TYPES), coder.encode(TYPES)):
        raise PromiseBroken("its text side, portable(), makes other codes; compute the same there")


PROMISES: dict[str, Callable[[TriedCoder], None]] = {
    "codes have the width and dtype of the class": _shape,
    "a code depends on the type alone": _alone,
    "threads give the same codes": _threads,
    "another process gives the same codes": _elsewhere,
    "made anew from its recipe and state it gives the same codes": _restored,
    "its recipe names it": _named,
    "its text side gives the same codes, or it has none": _on_device,
}
