"""The table of texts in further forms: every text in each form, the same forms whatever else is in the table."""

from __future__ import annotations

import csv
import doctest
import io
from pathlib import Path

import pandas as pd
import pytest

from analysis import typed_pairs

TEXTS = ["What is the birthstone of October ?", "How far is it from Denver to Aspen ?", "Who wrote it , and why ?"]


def printed(texts: list[str], folder: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> list:
    file = folder / "test.parquet"
    pd.DataFrame({"text": texts, "label": range(len(texts))}).to_parquet(file)
    patch.setattr("sys.argv", ["typed_pairs", str(file)])
    typed_pairs.main()
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_each_text_is_there_in_both_forms_with_its_label(tmp_path, capsys, monkeypatch) -> None:
    rows = printed(TEXTS, tmp_path, capsys, monkeypatch)
    assert [(row["text"], row["label"]) for row in rows] == 2 * [(text, str(i)) for i, text in enumerate(TEXTS)]
    by_kind = {kind: [row["perturbed"] for row in rows if row["kind"] == kind] for kind in ("scanned", "phone")}
    assert by_kind["phone"] == [
        "wat iz da birthstone ov october",
        "how far iz it frm denver 2 aspen",
        "hu wrote it n y",
    ]
    assert all(found.count(" ") == text.count(" ") for found, text in zip(by_kind["scanned"], TEXTS, strict=True))
    assert by_kind["scanned"] != TEXTS


def test_a_form_does_not_depend_on_the_other_rows(tmp_path, capsys, monkeypatch) -> None:
    whole = printed(TEXTS, tmp_path, capsys, monkeypatch)
    alone = printed(TEXTS[1:2], tmp_path, capsys, monkeypatch)
    assert [row["perturbed"] for row in alone] == [row["perturbed"] for row in whole if row["text"] == TEXTS[1]]


def test_its_examples() -> None:
    assert doctest.testmod(typed_pairs) == (0, 2)
