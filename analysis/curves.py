"""Learning curves: loss of every pre-training by objective, and the reported metric of every task while fine-tuning.

python -m analysis.curves --db results.db -o figures [--metric loss]
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.figures import colour_of, dashes_of, foot, head, open_results, parser, save, widen
from hashbench.errors import InputError
from hashbench.report.main import tables
from hashbench.report.measured import measure
from hashbench.store.engine import Store

SCORES = """
SELECT f.model AS model, f.task AS panel, f.seed AS seed, f.own_metric AS label, m.step AS step, m.value AS value
FROM finished f JOIN metric m ON m.attempt_id = f.attempt_id AND m.name = f.own_metric AND m.split = f.own_split
WHERE f.experiment_id = :experiment AND f.kind = 'finetune' AND m.perturbation = '' AND m.value IS NOT NULL
ORDER BY f.position, m.step
"""
TRAINING = """
SELECT f.model AS model, f.task AS panel, f.seed AS seed, m.name AS label, m.step AS step, m.value AS value
FROM finished f JOIN metric m ON m.attempt_id = f.attempt_id AND m.name = :metric AND m.split = 'train'
WHERE f.experiment_id = :experiment AND f.kind = :kind AND m.perturbation = '' AND m.value IS NOT NULL
ORDER BY f.position, m.step
"""
COLUMNS = 4  # panels side by side
SIZE = (3.6, 2.7)  # inches of a panel
OBJECTIVES = {"mlm": "masked language model", "shuffle_random": "shuffled and random tokens"}
LEAST = 0.02  # span of a vertical axis in stored units: two percent of a score
FEW = 15  # evaluations; fewer are marked one by one

Curve = dict[int, list[float]]  # step -> values of the seeds
Panels = dict[str, dict[str, Curve]]  # panel -> model -> curve


def panels_of(rows: Sequence[dict[str, object]]) -> Panels:
    """Rows (model, panel, step, value) by panel and model, seeds laid together.

    >>> row = {"panel": "cola", "model": "m", "step": 5}
    >>> panels_of([{**row, "value": 0.5}, {**row, "value": 0.7}])
    {'cola': {'m': {5: [0.5, 0.7]}}}
    """
    panels: Panels = {}
    for row in rows:
        curve = panels.setdefault(str(row["panel"]), {}).setdefault(str(row["model"]), {})
        curve.setdefault(int(str(row["step"])), []).append(float(str(row["value"])))
    return panels


def draw(panels: Panels, labels: dict[str, str], colours: dict[str, int], *, scale: float) -> tuple[Figure, list[Axes]]:
    """A figure with a panel each; its axes are placed by `place`, when head and foot are known."""
    columns = min(COLUMNS, max(2, len(panels)))
    lines = math.ceil(len(panels) / columns)
    figure = plt.figure(figsize=(SIZE[0] * columns, SIZE[1] * lines + 1.9))
    made = []
    for title, curves in panels.items():
        axes = figure.add_axes((0, 0, 0.1, 0.1), label=title)
        for model, curve in curves.items():
            _line(axes, model, curve, colours[model], scale)
        widen(axes, LEAST * scale)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        axes.set_title(title, fontsize=10)
        axes.set_ylabel(labels[title], fontsize=8)
        axes.set_xlabel("step", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        made.append(axes)
    return figure, made


def _line(axes: Axes, model: str, curve: Curve, colour: int, scale: float) -> None:
    """The mean over seeds, with a band of one standard deviation where there are several."""
    steps = sorted(curve)
    means = [scale * statistics.fmean(curve[step]) for step in steps]
    marker = "o" if len(steps) < FEW else None
    axes.plot(steps, means, dashes_of(colour), label=model, lw=1.3, marker=marker, ms=2.5, color=colour_of(colour))
    if all(len(curve[step]) > 1 for step in steps):
        spread = [scale * statistics.stdev(curve[step]) for step in steps]
        low = [mean - one for mean, one in zip(means, spread, strict=True)]
        high = [mean + one for mean, one in zip(means, spread, strict=True)]
        axes.fill_between(steps, low, high, alpha=0.12, lw=0, color=colour_of(colour))


def place(figure: Figure, made: Sequence[Axes], *, top: float, bottom: float) -> None:
    """Lay the panels out between head and foot, and one legend below them."""
    width, height = figure.get_size_inches()
    columns = min(COLUMNS, max(2, len(made)))
    lines = math.ceil(len(made) / columns)
    handles: dict[str, Artist] = {}
    for axes in made:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    per_line = max(1, int(width / 2.1))
    legend_height = (0.1 + 0.19 * math.ceil(len(handles) / per_line)) / height
    figure.legend(
        list(handles.values()), list(handles), loc="lower left", bbox_to_anchor=(0.01, bottom), ncols=per_line,
        fontsize=8, frameon=False, borderaxespad=0,
    )  # fmt: skip
    bottom += legend_height
    cell = (top - bottom) / lines
    for index, axes in enumerate(made):
        line, column = divmod(index, columns)
        left, under = 0.72 / width, 0.48 / height
        across, up = 1 / columns - left - 0.1 / width, cell - under - 0.28 / height
        axes.set_position((column / columns + left, top - (line + 1) * cell + under, across, up))


def run(store: Store, *, experiment: str | None, output: Path, metric: str = "", format: str = "png") -> list[Path]:
    """The files that were written: curves of pre-training, and of fine-tuning (`metric` '': the reported one).

    Raises InputError where no curve is stored.
    """
    measured = measure(store, experiment)
    table = tables(store, experiment=experiment)[0]
    models = dict.fromkeys(run.model for run in measured.runs if run.kind != "floor")
    colours = {model: index for index, model in enumerate(models)}
    key = {"experiment": measured.experiment.id}
    objectives = {run.model: run.spec["model"]["objective"]["kind"] for run in measured.runs if run.kind == "pretrain"}
    found = store.query(TRAINING, **key, kind="pretrain", metric=metric or "loss")
    pretraining = [{**row, "panel": OBJECTIVES[objectives[row["model"]]]} for row in found]
    finetuning = store.query(TRAINING, **key, kind="finetune", metric=metric) if metric else store.query(SCORES, **key)
    written = []
    for name, rows, what in (
        ("curves_pretraining", pretraining, "pre-training"),
        ("curves_finetuning", [dict(row) for row in finetuning], "fine-tuning"),
    ):
        if not rows:
            continue
        is_score = name == "curves_finetuning" and not metric
        labels = {str(row["panel"]): f"{row['label']}, percent" if is_score else str(row["label"]) for row in rows}
        figure, made = draw(panels_of(rows), labels, colours, scale=100 if is_score else 1)
        top = head(figure, f"{measured.experiment.name}: {what}", table.warnings)
        bottom = foot(figure, table, also=["line: mean over seeds, band: one sd"])
        place(figure, made, top=top, bottom=bottom)
        written.append(save(figure, output, name, format))
    if not written:
        what = f"no curve {metric or 'loss'!r} of experiment {measured.experiment.name!r}"
        raise InputError(f"{store.name}: {what}; finish its sweep")
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code."""
    options = parser(__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--metric", default="", help="of training: loss, learning_rate; default: the reported score")
    chosen = options.parse_args(arguments)
    try:
        asked = {name: getattr(chosen, name) for name in ("experiment", "output", "metric", "format")}
        for path in run(open_results(chosen.db), **asked):
            print(path)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
