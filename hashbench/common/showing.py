"""Text for the screen: lines, durations, numbers, texts from elsewhere without control characters, and no secrets.

Passwords and tokens, in addresses and in the environment, are replaced in what is printed, logged or stored. Passwords
that SQLAlchemy's parser reads in an address are added where the address is opened (`store.engine.parse`).
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

# All but tab and line feed: a terminal obeys them. The last ones turn the direction of the text around them.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

RUN_ID_LETTERS = 12  # of a run id in a message
FINGERPRINT_LETTERS = 8  # of a fingerprint or a commit in a note
SHOWN_CHARACTERS = 60  # of a cell, a line or a text that a message repeats


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


HIDDEN = "***"
# USER:PASSWORD@ of an address, up to the last @ of the word; a user may hold an @ too (USER@SERVER)
PASSWORD = re.compile(r"(://[^:/\s]*):[^\s]*@")
# Ways in which libpq is given one
NAMED_PASSWORD = re.compile(
    r"""(?i)\b(\w*(?:password|passwd|pwd|secret_key|access_key|api_key))(\s*=\s*)('(?:\\.|[^'])*'|"[^"]*"|[^\s&]+)"""
)
# For a command that was stored as one line, where the end of an address with blanks is not known
STORED_ADDRESS = re.compile(r"(--db[ =]\S+?://[^:/]*):.*@")
STORED_NAMED = re.compile(r"(?i)(--db[ =].*?password\s*=).*?(?= --|$)")
HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}")
SECRET_VARIABLE = re.compile(r"(TOKEN|API_KEY|PASSWORD|SECRET|SECRET_KEY|SECRET_ACCESS_KEY)$")
ADDRESS_VARIABLES = ("HASHBENCH_DB", "HASHBENCH_ARTIFACTS")
# No part of a longer word, since a password may be a word such as test; behind an encoded sign it begins one
BEGINNING = r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2})|(?<=%25[0-9A-Fa-f]{2}))"
SHORTEST_SECRET = 4  # characters of a secret that is looked for wherever it is; shorter ones only in their addresses

_kept: set[str] = set()  # secrets of addresses that this process has read


def keep_secrets(address: str, *parsed: str) -> None:
    """Notes the secrets of an address, which `without_passwords` replaces from here on, wherever they are.

    `parsed`: what the parser of its driver takes for passwords.
    """
    _kept.update(secrets_in(address), filter(None, parsed))


def secrets_in(address: str) -> set[str]:
    """The passwords in an address or in a line of NAME=VALUE as libpq takes it, encoded as they are there.

    >>> sorted(secrets_in("postgresql://hb@corp:a secret@127.0.0.1/pw")), secrets_in("results.db")
    (['a secret'], set())
    """
    _, is_url, rest = address.partition("://")
    if not is_url:
        return {_unquoted(match[3]) for match in NAMED_PASSWORD.finditer(address)} - {""}
    authority, at, _ = rest.rpartition("@")
    values = [part for part in rest.partition("?")[2].split("&") if NAMED_PASSWORD.match(part)]
    passwords = {value.partition("=")[2] for value in values}
    return (passwords | ({authority.partition(":")[2]} if at else set())) - {""}


def _unquoted(value: str) -> str:
    return value[1:-1].replace("\\", "") if value[:1] == value[-1:] and value[:1] in ("'", '"') else value


def _secrets_here() -> set[str]:
    """The secrets of this process: of its addresses, and of its environment."""
    secrets = set(_kept)
    for name, value in os.environ.items():
        if name in ADDRESS_VARIABLES:
            secrets |= secrets_in(value)
        elif SECRET_VARIABLE.search(name):
            secrets.add(value)
    return secrets


def _forms(secret: str) -> Iterator[str]:
    """A secret as it may be spelled, and its parts, as a parser may take it apart; none that is too short."""
    whole = {secret, unquote(secret), unquote_plus(secret)}
    pieces = {piece for text in whole for piece in re.split(r"[@:/?#&\s]", text)}
    for text in whole | pieces:
        encoded = quote(text, safe="")
        for form in (text, encoded, quote(encoded), quote_plus(text), json.dumps(text)[1:-1]):
            if len(form) >= SHORTEST_SECRET:
                yield form


def without_passwords(text: str) -> str:
    """The text with *** in place of passwords of addresses, of this process's own secrets, and of tokens of the hub.

    >>> without_passwords("sweep a.yaml --db postgresql://me:s3cr3t@host/runs --workers 2")
    'sweep a.yaml --db postgresql://me:***@host/runs --workers 2'
    >>> without_passwords("postgresql://host/runs?user=me&password=s3cr3t&sslmode=require")
    'postgresql://host/runs?user=me&password=***&sslmode=require'
    """
    forms = sorted({form for secret in _secrets_here() for form in _forms(secret)}, key=len, reverse=True)
    if forms:
        text = re.sub("|".join(rf"{BEGINNING}{re.escape(form)}(?!\w)" for form in forms), HIDDEN, text)
    text = STORED_NAMED.sub(rf"\1{HIDDEN}", STORED_ADDRESS.sub(rf"\1:{HIDDEN}@", text))
    text = NAMED_PASSWORD.sub(rf"\1\2{HIDDEN}", PASSWORD.sub(rf"\1:{HIDDEN}@", text))
    return HUB_TOKEN.sub(HIDDEN, text)


def argument_shown(argument: str) -> str:
    """One argument of a command with its secrets hidden; an address may hold blanks here, unlike within a line.

    >>> argument_shown("postgresql://me:my secret@host/runs"), argument_shown("seeds=[0, 1]")
    ('postgresql://me:***@host/runs', 'seeds=[0, 1]')
    """
    for secret in sorted(secrets_in(argument), key=len, reverse=True):
        argument = argument.replace(secret, HIDDEN)
    return without_passwords(argument)


def stored_command(arguments: Sequence[str]) -> str:
    """A command as a database stores it: without --db, which is that database, and without secrets.

    >>> stored_command(["sweep", "a.yaml", "--db", "postgresql://me:my secret@host/runs", "--workers", "2"])
    'sweep a.yaml --workers 2'
    """
    kept, is_value = [], False
    for argument in arguments:
        if not is_value and argument != "--db" and not argument.startswith("--db="):
            kept.append(argument_shown(argument))
        is_value = not is_value and argument == "--db"
    return " ".join(kept)


# More digits are no number of anything here, and Python refuses to read thousands of them
WHOLE = re.compile("[0-9]{1,18}")


def whole_number(text: str) -> int | None:
    """The number that a text of digits writes; None for any other text.

    `str.isdigit` is true of texts that `int` does not read, such as a superscript.

    >>> whole_number("042"), whole_number("-1"), whole_number("\u00b2"), whole_number("")
    (42, None, None, None)
    """
    return int(text) if WHOLE.fullmatch(text) else None
