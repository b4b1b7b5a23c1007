"""How commands were spelt in the release before; what is here goes with the next one."""

from __future__ import annotations

from collections.abc import Sequence

# options of `report` that are commands of their own now: those that went, and those that moved there
OF_REPORT = {
    "claims": ({"--claims"}, {"--claims-file", "--parts"}),
    "robustness": ({"--robustness"}, {"--versus"}),
}


def in_this_release(words: Sequence[str]) -> tuple[list[str], str]:
    """The words of a command line as they are spelt now, and what to write from now on ('' where nothing changes).

    >>> in_this_release(["report", "glue_tiny", "--claims", "--parts"])
    (['report', 'claims', 'glue_tiny', '--parts'], 'hashbench report claims')
    >>> in_this_release(["report", "claims", "glue_tiny", "--parts"])
    (['report', 'claims', 'glue_tiny', '--parts'], '')
    """
    if not words or words[0] != "report" or words[1:] and words[1] in OF_REPORT:
        return list(words), ""
    options = {word.partition("=")[0] for word in words}
    for command, (gone, moved) in OF_REPORT.items():
        if options & (gone | moved):
            kept = [word for word in words[1:] if word not in gone]
            return ["report", command, *kept], f"hashbench report {command}"
    return list(words), ""
