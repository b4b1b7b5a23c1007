"""A thousand texts that a text side must read as hashbench does: all scripts, empty, long, emoji, combining marks."""

from __future__ import annotations

import random
import unicodedata
from functools import cache

N_TEXTS = 1_000
SEED = 7
BY_HAND = (
    "",
    " ",
    "\n\t\u3000",
    "a",
    "A",
    "play plays playing",
    "Don't STOP!!! (now)",
    "1,234.56 and 3\u00bd",
    "snake_case x\u00b2",
    "\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3 \u03a3 \u03b1\u03a3.\u03b2 \u03a3\u0301",
    "\u0130stanbul I\u0307 \u0131",
    "Stra\u00dfe STRASSE \ufb01sh",
    "\u00c9va e\u0301 E\u0301va",
    "nai\u0308ve na\u00efve",
    "\u6771\u4eac\u90fd\u306e\u5929\u6c17",
    "\u4e2d\u6587\u3001\u5b57\u3002",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\u0627\u0644\u0652\u0639\u064e\u0631\u0628\u064a\u0629",
    "\u05e2\u05b4\u05d1\u05e8\u05b4\u05d9\u05ea",
    "\u1019\u103c\u1014\u103a\u1019\u102c",
    "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8 \u10a0\u10a1",
    "\U0001f600\U0001f44d\U0001f3fd",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "\u2764\ufe0f ok",
    "a\u200bb\u200cc\u200dd\ufeff",
    "\u202eabc\u202c",
    "x\u0000y\u0001\u007f",
    "\ufffd\ud800",
    "tab\tnew\nline\r\n\x85end\u2028",
    "\U00010400\U00010428 \U0001d400",
    "\u1e9e \u01c5 \u2160 \u24b6",
    "http://a.example/?q=1&r=%20#x",
    "##ing [UNK] <s> </s> [CLS]",
    "e" + "\u0301" * 40,
    "x" * 300,
    "ab " * 200,
    "-" * 130,
)


@cache
def texts_to_prove() -> tuple[str, ...]:
    """The texts, the same wherever they are made with one version of Python."""
    generator = random.Random(SEED)
    texts = list(BY_HAND)
    blocks = _letters()
    while len(texts) < N_TEXTS:
        block = blocks[len(texts) % len(blocks)]
        words = ["".join(generator.choices(block, k=generator.randint(1, 7))) for _ in range(generator.randint(1, 5))]
        texts.append(generator.choice((" ", " ", ", ", "-", "' ")).join(words) + generator.choice(("", ".", "!!", "?")))
    return tuple(texts)


def _letters() -> list[list[str]]:
    """Characters of each script, by the first word of their names; and others of all kinds."""
    scripts: dict[str, list[str]] = {}
    others = []
    for point in (*range(0x20, 0x3100), *range(0x4E00, 0x4F00), *range(0xA000, 0xA4D0), *range(0xAC00, 0xAD00),
                  *range(0x10000, 0x10500), *range(0x1F300, 0x1F650)):  # fmt: skip
        character = chr(point)
        kind = unicodedata.category(character)
        if kind[0] in "LM":
            scripts.setdefault(unicodedata.name(character).split()[0], []).append(character)
        elif kind not in ("Cn", "Cs"):
            others.append(character)
    return [members for members in scripts.values() if len(members) > 4] + [others]
