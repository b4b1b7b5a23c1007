"""Text for the screen: lines, durations, and texts from elsewhere without control characters."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from hashbench.common.secrecy import without_passwords

# All but tab and line feed: a terminal obeys them. The last ones turn the direction of the text around them.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def tell(line: str) -> None:
    """Prints one line for the user on stderr, and on the screen too where stderr is redirected to a run's log."""
    line = without_passwords(line)
    print(line, file=sys.stderr, flush=True)
    shown = getattr(sys.stderr, "rich_proxied_file", sys.stderr)  # a sweep's bars print in front of the screen
    if sys.__stderr__ is not None and shown is not sys.__stderr__:
        print(line, file=sys.__stderr__, flush=True)


def printable(text: str) -> str:
    r"""The text with control characters escaped as JSON escapes them; line feeds and tabs stay.

    >>> printable("fine\n"), printable("\x1b[2Jgone")
    ('fine\n', '\\u001b[2Jgone')
    """
    return text if text.isprintable() else CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable_parts(value: Any) -> Any:
    """The value with `printable` applied to every text in it, inside dataclasses, mappings, lists and tuples too."""
    if isinstance(value, str):
        return printable(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        changed = {name: new for name, old in fields.items() if (new := printable_parts(old)) is not old}
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, dict):
        parts = {printable_parts(key): printable_parts(part) for key, part in value.items()}
        same = all(a is b and c is d for (a, c), (b, d) in zip(parts.items(), value.items(), strict=True))
        return value if same else parts
    if type(value) in (list, tuple):
        members = [printable_parts(part) for part in value]
        return value if all(a is b for a, b in zip(members, value, strict=True)) else type(value)(members)
    return value


def duration_text(seconds: float) -> str:
    """A duration in seconds, rounded and with units for a reader.

    >>> [duration_text(s) for s in (0.42, 42, 125, 7300, 200000)]
    ['0.4 s', '42 s', '2 min', '2 h 2 min', '2 d 8 h']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h"


EXACT_DECIMALS = 9  # beyond them the bits of a computed number depend on the order of its sums


def rounded(value: float, decimals: int) -> float:
    """The number at so many decimals, for all that is printed of scores, sizes and times; never -0.0.

    One number may be computed in several ways: 100 * 0.7455 is 74.55000000000001, the mean of four percents 74.55. So
    it is first taken to nine decimals, and the double nearest to that is rounded, as Python and JavaScript do. 74.55
    has no double: the nearest one is below it, and gives 74.5.

    >>> rounded(100 * 0.7455, 1), rounded(74.55, 1), rounded(74.65, 1), rounded(-0.04, 1)
    (74.5, 74.5, 74.7, 0.0)
    """
    return round(round(value, EXACT_DECIMALS), decimals) + 0.0


def decimal_text(value: float, decimals: int, form: str = "") -> str:
    """The number as text, rounded as by `rounded`. `form`: "+" for a sign in any case, "," for thousands separators.

    >>> decimal_text(100 * 0.7455, 1), decimal_text(0.05, 1, "+"), decimal_text(-0.04, 1, "+"), decimal_text(-0.04, 1)
    ('74.5', '+0.1', '-0.0', '0.0')
    """
    text = f"{round(value, EXACT_DECIMALS):{form}.{decimals}f}"
    return text if "+" in form or set(text) - set("-0.") else text.removeprefix("-")


def percent_text(share: float, decimals: int = 1) -> str:
    """A score or share in its natural range as text, in percent.

    >>> percent_text(0.7455), percent_text(0.70354, 2)
    ('74.5', '70.35')
    """
    return decimal_text(100 * share, decimals)


def day_text(seconds: float) -> str:
    """The UTC date of a time in seconds since 1970.

    >>> day_text(1_700_000_000)
    '2023-11-14'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def few(names: Sequence[str]) -> str:
    """Names joined by commas; of more than two, the first two and how many more there are.

    >>> few(("cola", "rte", "sst2"))
    'cola, rte, 1 more'
    """
    return ", ".join(names) if len(names) <= 2 else f"{', '.join(names[:2])}, {len(names) - 2} more"


BUDGET_TOLERANCE = 0.02  # share of a budget of parameters by which the embedding of a model at it may miss it


def amount(parameters: int) -> str:
    """A number of parameters, abbreviated with M or k.

    >>> amount(230_000), amount(6_400_000), amount(1_500)
    ('0.23M', '6.4M', '1.5k')
    """
    return f"{parameters / 1e6:g}M" if parameters >= 100_000 else f"{parameters / 1e3:g}k"


def batch_text(recipe: Mapping[str, Any]) -> str:
    """A batch of a pre-training recipe in words, from the recipe as it is stored.

    >>> batch_text({"batch_size": 64, "sequence_length": 512})
    '64 x 512 tokens'
    >>> batch_text({"batch_size": 64, "sequence_length": 512, "words_per_row": 128})
    '64 x 128 words, at most 512 tokens each,'
    """
    words = recipe["words_per_row"] if "words_per_row" in recipe else None
    if words is None:
        return f"{recipe['batch_size']} x {recipe['sequence_length']} tokens"
    return f"{recipe['batch_size']} x {words} words, at most {recipe['sequence_length']} tokens each,"
