"""Sweeps: plan, workers, what is left to do. Called as `hashbench.sweep("file.yaml")`, a sweep and its report."""

from hashbench.rooms import make_callable

make_callable(__name__, "hashbench.sweep.notebook")
