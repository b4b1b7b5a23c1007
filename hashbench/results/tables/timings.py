"""What is said of measured times: on what, how, for how long, and how much the baseline differs from itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.results.read.measured import PERCENT, Measured
from hashbench.results.read.runs import MeasuredRun
from hashbench.results.tables.wording import distinct

SPEED_UPS = {"pre-training": "pt_speedup", "inference": "infer_speedup"}  # by what is timed


def timing_line(measured: Measured) -> str:
    """Device, threads, precision, batches, how long was measured, and the noise; '' where nothing was timed."""
    runs = [run for run in measured.runs if run.measures_time and run.state == "done"]
    if not runs:
        return ""
    devices = [run.spec["device"] for run in runs]
    names = distinct(device["name"] + _cores(device["cores"]) for device in devices)
    how_long = distinct(_rule(run.spec["efficiency"]) for run in runs if "efficiency" in run.spec)
    threads = distinct(run.spec["threads"] or "as many as cores" for run in runs)
    how = "model and baseline in turn in one process, medians"
    found = [run.precision for run in runs if run.precision]  # a processor may compute in another than was asked for
    precision = f", precision {distinct(found)}" if found else ""
    parts = [f"on {names}, threads {threads}{precision}", how, _batches(measured, runs), how_long, _noise(measured)]
    return "; ".join(part for part in parts if part)


def _cores(number: int | None) -> str:
    return f" ({number} core{'s' if number != 1 else ''})" if number else ""


def _batches(measured: Measured, runs: Sequence[MeasuredRun]) -> str:
    """The timed batches, as they were found where the experiment leaves them open."""
    chosen = [run.spec["efficiency"] for run in runs if "efficiency" in run.spec]
    lengths = distinct(how["pretrain_length"] for how in chosen)
    texts = []
    titles = {"pretrain_batch": f"pre-training batches of {{}} x {lengths}", "infer_batch": "inference batches of {}"}
    for name, title in titles.items():
        facts = (measured.fact(entry, name) for entry in measured.entries)
        sizes = sorted({size for fact in facts if fact for size in (fact.value, fact.value_high) if size})
        asked = {how[f"{name}_size"] for how in chosen} - {None}
        texts += [title.format(distinct(map(int, sizes or sorted(asked))))] if sizes or asked else []
    return ", ".join(texts)


def _rule(how: Mapping[str, Any]) -> str:
    """How long was measured; runs that were stored before there was a width measured a number of pairs."""
    if "width" not in how:
        return f"{how['pairs']} pairs, the model always first"
    until = f"until the interval is narrower than {PERCENT * how['width']:g} % or {how['limit_s']:g} s have passed"
    return f"{how['pairs']} pairs in rounds A B B A, then on {until}"


def _noise(measured: Measured) -> str:
    """What the baseline against itself gives: the ratio that means no difference."""
    entry = measured.find_entry(measured.experiment.baseline)
    facts = {name: measured.fact(entry, column) for name, column in SPEED_UPS.items()} if entry else {}
    known = {name: fact.interval for name, fact in facts.items() if fact and fact.interval}
    ends = [f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in known.items()]
    return f"noise, the baseline against itself: {', '.join(ends)}" if ends else "noise not measured"
