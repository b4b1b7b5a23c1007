"""The block `slurm` of an experiment file: options of Slurm's sbatch for the elements of an array job."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from hashbench.common.showing import printable

SLURM, TIME = "slurm", "time"  # the executor, and the one option that it needs
OPTION = "[a-z][a-z0-9_-]*"  # the long name of an option of sbatch
# Set by hashbench: what an element is, how it is signalled and queued again, where its log is, what sbatch prints
SET_HERE = (
    "array", "error", "no-requeue", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable", "quiet",
    "requeue", "signal", "test-only", "wait", "wrap",
)  # fmt: skip
# sbatch(1), --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours, and so on
TIMES = re.compile(
    r"(?:(?P<days>\d+)-(?P<of_day>\d+)(?::(?P<of_hour>\d+)(?::(?P<of_minute>\d+))?)?"
    r"|(?:(?P<hours>\d+):(?=\d+:))?(?P<minutes>\d+)(?::(?P<seconds>\d+))?)"
)
SECONDS = {"days": 86_400, "of_day": 3600, "of_hour": 60, "of_minute": 1, "hours": 3600, "minutes": 60, "seconds": 1}


def sbatch_options(block: Mapping[str, bool | int | str]) -> dict[str, bool | int | str]:
    """The options of a block by their long names, spelled with dashes as sbatch has them.

    They go into the head of a shell script. Raises ValueError for what is no name, or no value for one line of it.

    >>> sbatch_options({"mail_type": "END", "exclusive": True})
    {'mail-type': 'END', 'exclusive': True}
    """
    options: dict[str, bool | int | str] = {}
    for key, value in block.items():
        name = key.replace("_", "-")
        if not re.fullmatch(OPTION, key):
            raise ValueError(f"{printable(key)!r} is no option of sbatch; write a long name without dashes before it")
        if name in options:
            raise ValueError(f"{name} stands twice, with - and with _; keep one")
        if name in SET_HERE:
            what = {"array": "; workers is the number of elements", "nodes": "; an element has one node"}
            raise ValueError(f"{name} is set by hashbench{what.get(name, '')}; leave it out")
        if value is False or not str(value).isprintable() or not str(value).strip():
            raise ValueError(f"{name}: {value!r} is no value on one line; write true for an option without one")
        options[name] = value
    if TIME in options:
        minutes_of(options[TIME])
    return options


def minutes_of(time: bool | int | str) -> int:
    """A time limit in whole minutes, rounded up, which is how Slurm counts it. Raises ValueError for what is none.

    >>> minutes_of(90), minutes_of("12:00:00"), minutes_of("1-12"), minutes_of("90:30"), minutes_of("2-01:30")
    (90, 720, 2160, 91, 2970)
    """
    match = None if isinstance(time, bool) else TIMES.fullmatch(str(time))
    seconds = sum(SECONDS[unit] * int(number) for unit, number in match.groupdict("0").items()) if match else 0
    if not seconds:
        raise ValueError(f"{TIME}: {time!r} is no time limit; write minutes, hours:minutes:seconds or days-hours")
    return math.ceil(seconds / 60)


SbatchOptions = Annotated[
    dict[str, bool | int | str],
    AfterValidator(sbatch_options),
    Field(json_schema_extra={"propertyNames": {"pattern": f"^{OPTION}$"}}),
]
