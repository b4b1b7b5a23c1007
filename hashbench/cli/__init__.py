"""The command line. `main` is what the installed `hashbench` command calls; nothing heavy is imported here."""

from hashbench.cli.app import main

__all__ = ["main"]
