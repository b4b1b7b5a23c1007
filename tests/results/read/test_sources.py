"""Whether what stands side by side was computed by the same code."""

from hashbench.results.read.sources import different_sources, sources_of


def run(task: str | None, model: str, sources: str | None):
    return sources_of("finetune" if task else "pretrain", task, model, {} if sources is None else {"sources": sources})


def test_equal_code_and_code_that_was_not_noted_is_not_spoken_of() -> None:
    runs = [run("cola", "a", "11 aa"), run("cola", "b", "11 bb"), run("cola", "c", None), run(None, "a", "22 aa")]
    assert different_sources(runs) == []


def test_a_column_whose_runs_have_different_shared_code() -> None:
    runs = [run("cola", "a", "11 aa"), run("cola", "b", "99 bb"), run("cola", "c", "11 cc"), run("rte", "a", "11 aa")]
    assert different_sources(runs) == ["finetune on cola: 2 versions of the code (11: a, c; 99: b)"]


def test_a_model_whose_own_code_changed_between_columns() -> None:
    runs = [run("cola", "a", "11 aa"), run("rte", "a", "11 dd"), run("rte", "b", "11 bb")]
    assert different_sources(runs) == ["model a: 2 versions of the code (aa: finetune on cola; dd: finetune on rte)"]


def test_columns_whose_models_fall_apart_alike_share_a_line() -> None:
    runs = [run(task, *each) for task in ("cola", "rte") for each in (("a", "11 aa"), ("b", "99 bb"), ("c", "11 cc"))]
    runs += [run("stsb", "a", "22 aa"), run("stsb", "c", "22 cc"), run("stsb", "b", "88 bb")]
    assert different_sources(runs) == ["finetune on cola, rte, stsb: 2 versions of the code (11/22: a, c; 99/88: b)"]


def test_of_many_models_the_first_are_named() -> None:
    runs = [run("cola", name, "11 aa") for name in "abcdef"] + [run("cola", name, "99 aa") for name in "ghij"]
    (line,) = different_sources(runs)
    assert line == "finetune on cola: 2 versions of the code (11: a, b, c and 3 more; 99: g, h, i, j)"


def test_models_that_fall_apart_alike_share_a_line() -> None:
    runs = [run(task, model, f"11 {model}1") for model in "abcde" for task in ("cola", "rte")]
    runs += [run(None, model, f"22 {model}2") for model in "abcde"]
    assert different_sources(runs) == [
        "models a, b, c and 2 more: 2 versions of the code "
        "(a1/b1/c1 and 2 more: finetune on cola, rte; a2/b2/c2 and 2 more: pretrain)"
    ]
