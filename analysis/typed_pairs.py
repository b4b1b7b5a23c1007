"""Texts beside two further forms that people's programs give them: scanned, and typed on a phone.

    python -m analysis.typed_pairs FOLDER/classification/trec/test.parquet > trec_pairs.csv

The table is one for `robustness: {pairs: {trec: trec_pairs.csv}}`. `scanned`: letters as scanners confuse them, each
place with a chance of one in ten. `phone`: lower case, no punctuation, and the short forms of chats. The draws are
seeded by the text, so that a table of fewer rows has the same forms.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys

import pandas as pd

CHANCE = 0.1  # of each place that a scanner may confuse
SCANNED = {
    "rn": "m", "cl": "d", "vv": "w", "m": "rn", "d": "cl", "w": "vv", "o": "0", "O": "0", "l": "1", "I": "l", "i": "l",
    "S": "5", "s": "5", "B": "8", "g": "9", "e": "c", "h": "b", "u": "ii", "Z": "2", "t": "f",
}  # fmt: skip
PHONE = {
    "you": "u", "are": "r", "your": "ur", "what": "wat", "for": "4", "to": "2", "and": "n", "the": "da", "who": "hu",
    "why": "y", "was": "woz", "does": "duz", "have": "hav", "much": "mch", "people": "ppl", "because": "cuz",
    "great": "gr8", "before": "b4", "with": "w", "about": "abt", "from": "frm", "is": "iz", "of": "ov", "many": "mny",
}  # fmt: skip
PLACES = re.compile("|".join(sorted(map(re.escape, SCANNED), key=len, reverse=True)))


def scanned(text: str) -> str:
    """The text with letters as a scanner confuses them.

    >>> scanned("morning dew on the hill of glass, in the cold light of the moon")
    'morning dew on the hi1l of gla5s, in the cold llght 0f the moon'
    """
    draw = random.Random(text)
    return PLACES.sub(lambda found: SCANNED[found[0]] if draw.random() < CHANCE else found[0], text)


def phone(text: str) -> str:
    """The text as it is typed on a phone.

    >>> phone("What does the abbreviation SOS mean ?")
    'wat duz da abbreviation sos mean'
    """
    return " ".join(PHONE.get(word, word) for word in re.findall(r"[^\W_]+", text.lower()))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="a parquet file with the columns text and label")
    rows = pd.read_parquet(parser.parse_args().file)
    written = csv.writer(sys.stdout, lineterminator="\n")
    written.writerow(["text", "label", "perturbed", "kind"])
    for kind, form in (("scanned", scanned), ("phone", phone)):
        written.writerows([text, label, form(text), kind] for text, label in zip(rows.text, rows.label, strict=True))


if __name__ == "__main__":
    main()
