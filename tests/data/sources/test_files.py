from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources import text_tables
from hashbench.data.sources.files import Cells, FileTable, feature_names, find_table, iterate_column
from hashbench.data.sources.text_tables import ReadOptions

EMOJI = "emoji \U0001f600\U0001f468\u200d\U0001f469"
ODD_TEXTS = ["", EMOJI, "x" * 100_000, "NUL \0 inside", 'a,b "c"\nd', "y" * 200_000]


def read_columns(path: Path, columns: list[str]) -> dict[str, Cells]:
    return FileTable((path,)).read(columns)


def parquet(path: Path) -> None:
    pq.write_table(pa.table({"text": ODD_TEXTS, "label": range(len(ODD_TEXTS))}), path)


def csv(path: Path) -> None:
    rows = ['"' + text.replace('"', '""') + f'",{i}' for i, text in enumerate(ODD_TEXTS)]
    path.write_bytes(("text,label\n" + "\n".join(rows) + "\n").encode())


def jsonl(path: Path) -> None:
    path.write_text("\n".join(json.dumps({"text": text, "label": i}) for i, text in enumerate(ODD_TEXTS)) + "\n")


def array(path: Path) -> None:
    path.write_text(json.dumps([{"text": text, "label": i} for i, text in enumerate(ODD_TEXTS)], indent=1) + "\n")


@pytest.mark.parametrize("write", [parquet, csv, jsonl, array])
def test_odd_texts_come_back_as_they_are(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / f"train.{'json' if write is array else write.__name__}"
    write(path)
    found = FileTable((path,)).read(["text", "label"])
    assert found["text"] == ODD_TEXTS
    assert [int(cell) for cell in found["label"]] == list(range(len(ODD_TEXTS)))  # type: ignore[call-overload]
    assert list(iterate_column(path, "text")) == ODD_TEXTS


LINES = {"csv": ("text,label\n", "{},0\n"), "tsv": ("text\tlabel\n", "{}\t0\n"), "jsonl": ("", '{{"text": "{}"}}\n')}


@pytest.mark.parametrize("suffix", LINES)
def test_a_file_of_lines_is_never_whole_in_memory(tmp_path: Path, suffix: str) -> None:
    head, line = LINES[suffix]
    path = tmp_path / f"train.{suffix}"
    path.write_text(head + "".join(line.format(f"{number} {'x' * 1_000}") for number in range(5_000)))
    tracemalloc.start()
    seen = [str(cell).split()[0] for cell in iterate_column(path, "text", skip=2)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == [str(number) for number in range(2, 5_000)]
    assert most < 1_000_000 < path.stat().st_size / 4


@pytest.mark.parametrize("suffix", LINES)
def test_the_byte_that_is_wrong_is_counted_from_the_beginning(tmp_path: Path, suffix: str) -> None:
    head, line = LINES[suffix]
    path, whole = tmp_path / f"train.{suffix}", (head + 3_000 * line.format("four")).encode()
    path.write_bytes(whole + b"\xff\n")
    cells = iterate_column(path, "text")
    assert next(cells) == "four"  # before anything is known of the end
    with pytest.raises(InputError, match=rf"not UTF-8 \(byte {len(whole)}\)"):
        list(cells)


def test_unpaired_surrogates_pass_in_jsonl_and_csv(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "bad \\ud800 one", "label": 0}\n')
    (tmp_path / "b.csv").write_bytes(b"text,label\nbad \xed\xa0\x80 one,0\n")
    for name in ("a.jsonl", "b.csv"):
        assert read_columns(tmp_path / name, ["text"])["text"] == ["bad \ud800 one"]


def test_csv_with_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbftext,label\r\na,1\r\n\r\nb,0\r\n")
    assert read_columns(tmp_path / "t.csv", ["text", "label"]) == {"text": ["a", "b"], "label": ["1", "0"]}


def test_missing_cell_of_parquet_is_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", None]}), tmp_path / "t.parquet")
    assert read_columns(tmp_path / "t.parquet", ["text"])["text"] == ["a", None]


def test_a_table_in_parts_is_read_in_order(tmp_path: Path) -> None:
    for i in (0, 1):
        pq.write_table(pa.table({"text": [f"part {i}"]}), tmp_path / f"train-0000{i}-of-00002.parquet")
    table = find_table(tmp_path, ["train"])
    assert table is not None and table.n_rows() == 2
    assert table.read(["text"])["text"] == ["part 0", "part 1"]


def test_a_split_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert find_table(tmp_path, ["train"]) is None


def wrong(path: Path, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FileTable((path,)).read(["text", "label"])


def test_missing_file(tmp_path: Path) -> None:
    wrong(tmp_path / "train.csv", r"train\.csv: no such file; check the path")


def test_folder_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "train.csv").mkdir()
    wrong(tmp_path / "train.csv", r"train\.csv: is a folder; a \.csv file is expected there")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_empty_file(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"train.{suffix}").touch()
    wrong(tmp_path / f"train.{suffix}", "is an empty file; put a table of texts in it, or remove it")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_binary_file(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"train.{suffix}").write_bytes(bytes(range(256)))
    wrong(tmp_path / f"train.{suffix}", r"is a binary file, or text that is not UTF-8 \(byte 128\)")


def test_binary_file_that_decodes_by_chance(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(b"\0\1\2\3\n")
    wrong(tmp_path / "train.csv", r"is a binary file \(its first line holds NUL\)")


def test_binary_file_named_parquet(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(bytes(range(256)))
    wrong(tmp_path / "train.parquet", "is not a parquet file, or a damaged one")


def test_damaged_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a" * 1_000], "label": [0]}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "train.parquet").write_bytes(data[: len(data) // 2])
    wrong(tmp_path / "train.parquet", "is not a parquet file, or a damaged one")


def test_no_rows(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n")
    wrong(tmp_path / "train.csv", "has no rows; put some in it")


def test_missing_column_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("texts,label\na,0\n")
    wrong(tmp_path / "train.csv", r"no column 'text'; did you mean 'texts'\?")


def test_missing_column_lists_what_there_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"words": ["a"], "klass": [0]}), tmp_path / "train.parquet")
    wrong(tmp_path / "train.parquet", "no column 'text'; it has words, klass")


def test_a_table_without_a_line_of_names(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('"3","Wall St. Bears Claw Back","Short-sellers"\n"4","Title","Text"\n')
    wrong(tmp_path / "train.csv", r"its first line, 3, Wall St\. .*, names no column; write a line of names first")


NESTED = [
    {"id": 1, "translation": {"de": "eins", "en": "one"}, "tokens": [{"form": "a", "tag": 0}], "x.y": "plain"},
    {"id": 2, "translation": {"de": "zwei", "en": None}, "tokens": [], "x.y": "plain"},
    {"id": 3, "translation": None, "tokens": [{"form": "b", "tag": 1}, {"form": "c", "tag": 0}], "x.y": "plain"},
]


def nested(folder: Path, ending: str) -> Path:
    """The rows as a file of this format."""
    path = folder / f"train{ending}"
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(NESTED), path)
    elif ending == ".json":
        path.write_text(json.dumps(NESTED))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in NESTED))
    return path


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".json"])
def test_a_dotted_path_names_what_lies_in_a_column(tmp_path: Path, ending: str) -> None:
    """In a list it names that of each item; a column of the whole name comes first."""
    path = nested(tmp_path, ending)
    columns = ["translation.en", "tokens.form", "x.y", "translation.de", "id"]
    assert read_columns(path, columns) == {
        "translation.en": ["one", None, None],
        "tokens.form": [["a"], [], ["b", "c"]],
        "x.y": ["plain"] * 3,
        "translation.de": ["eins", "zwei", None],
        "id": [1, 2, 3],
    }
    for column, has in (
        ("translation.fr", "'translation' has no 'fr'; it has de, en"),
        ("tokens.form.x", "'tokens.form' has no 'x'; it holds str"),
        ("id.x", "'id' has no 'x'; it holds int"),
        ("nothing.x", "it has id, translation, tokens"),
    ):
        with pytest.raises(InputError, match=rf"no column '{column}'.*{has}"):
            read_columns(path, [column])


def test_a_dotted_path_of_a_csv_file_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("meta,label\n{},0\n")
    with pytest.raises(InputError, match=r"no column 'meta\.text'; 'meta' is one, of texts: nothing lies in them"):
        read_columns(tmp_path / "train.csv", ["meta.text", "label"])


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_a_key_in_a_column_is_there_once(tmp_path: Path, ending: str) -> None:
    row = '{"meta": {"text": "a", "text": "b"}, "label": 0}'
    (tmp_path / f"train{ending}").write_text(f"[{row}]" if ending == ".json" else f"{row}\n")
    with pytest.raises(InputError, match=r"column 'text' is there 2 times"):
        read_columns(tmp_path / f"train{ending}", ["meta.text", "label"])


@pytest.mark.parametrize("items", [{"feature": {"names": ["no", "yes"]}}, [{"names": ["no", "yes"]}]])
def test_names_of_classes_in_a_column(tmp_path: Path, items: object) -> None:
    """Of a struct, and of a list of structs in the forms of all versions of `datasets`."""
    inside = {"feature": {"tag": {"names": ["O", "B-x"]}}, "_type": "List"}
    features = {"meta": {"label": {"names": ["no", "yes"]}, "several": items}, "tokens": inside}
    table = pa.table({"meta": [{"label": 0, "several": [0]}], "tokens": [[{"tag": 1}]]})
    written = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    pq.write_table(table.replace_schema_metadata(written), tmp_path / "train.parquet")
    names = {
        column: feature_names(tmp_path / "train.parquet", column)
        for column in ("meta.label", "meta.several", "tokens.tag", "meta", "meta.other")
    }
    assert names == {
        "meta.label": ("no", "yes"), "meta.several": ("no", "yes"), "tokens.tag": ("O", "B-x"), "meta": (),
        "meta.other": (),
    }  # fmt: skip


def test_row_of_another_width(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\na,0\nb, c,1\n")
    wrong(tmp_path / "train.csv", r"train\.csv:3: 3 cells, the header has 2; quote texts with commas")


def test_csv_with_a_wrong_quote(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text('text,label\n"a"b,0\n')
    wrong(tmp_path / "train.csv", r"train\.csv:2: is not CSV")


def test_jsonl_line_that_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "a", "label": 0}\n{"text": \n')
    wrong(tmp_path / "train.jsonl", r"train\.jsonl:2: is not JSON .*; each line is one object")


def test_jsonl_line_that_is_not_an_object(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("[1, 2]\n")
    wrong(tmp_path / "train.jsonl", r"train\.jsonl:1: is list, not an object")


def test_jsonl_line_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "a", "label": 0}\n{"text": "a"}\n')
    wrong(tmp_path / "train.jsonl", r"train\.jsonl:2: no column 'label'; it has text")


def test_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "train.xls").write_text("x")
    wrong(tmp_path / "train.xls", r"a table is a \.parquet, \.csv, \.tsv, \.jsonl or \.json file; convert it")


def test_two_files_for_one_split(tmp_path: Path) -> None:
    (tmp_path / "train.csv").touch()
    (tmp_path / "train.jsonl").touch()
    with pytest.raises(InputError, match=r"train\.csv and train\.jsonl are both the train split; keep one"):
        find_table(tmp_path, ["train"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_fingerprint_follows_the_content(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train.{suffix}"
    path.write_text("one")
    first = FileTable((path,)).fingerprint()
    path.write_text("two!")
    second = FileTable((path,)).fingerprint()
    path.write_text("one")
    assert first != second
    assert FileTable((path,)).fingerprint() == first


FIRST = '{"text": "a", "label": 0}'
TWICE = '{"text": "a", "label": 0, "label": 1}'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.json", f"[{FIRST}]"),
        ("t.json", f"\ufeff\n [\n{FIRST}\n]\n\n"),
        ("t.json", f"{FIRST}\n"),
        ("t.JSON", f"[{FIRST}]"),
        ("t.ndjson", FIRST),
        ("t.Csv", "text,label\na,0\n"),
        ("t.tsv", "text\tlabel\na\t0\n"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_formats_by_their_content_and_in_any_case(tmp_path: Path, name: str, content: str, packed: bool) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    table = FileTable((path,))
    cells = table.read(["text", "label"])
    assert cells["text"] == ["a"] and int(str(cells["label"][0])) == 0


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_an_array_is_read_whatever_its_cells_hold(tmp_path: Path, indent: int | None) -> None:
    rows = [{"text": f"{number} ] , {{ \u2028 " + "x" * number, "label": [number, {"n": None}]} for number in range(99)]
    (tmp_path / "t.json").write_text(json.dumps(rows, indent=indent, ensure_ascii=False))
    cells = read_columns(tmp_path / "t.json", ["label", "text"])
    assert cells == {name: [row[name] for row in rows] for name in ("label", "text")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"[\n{FIRST},\n{FIRST[:-1]}\n", r"t\.json:[34]: is not JSON"),
        (f"[\n{FIRST},\n{{'text': 1}}]", r"t\.json:3: is not JSON .*; mend the array"),
        (f"[\n{FIRST},\n[1]]", r"t\.json: object 2: is list, not an object"),
        (f"[\n{FIRST}]\n[{FIRST}]", r"t\.json:3: is not JSON \(Extra data"),
        ('[\n{"text": "a"}]', r"t\.json: object 1: no column 'label'; it has text"),
        (f"[\n{TWICE}]", r"t\.json: object 1: column 'label' is there 2 times"),
        ('{"data": [1]}', r"t\.json:1: no column 'text'; it has data"),
        ('{\n "text": "a"\n}', r"t\.json:1: is not JSON"),
        ("[]", "has no rows"),
    ],
)
def test_wrong_json_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "t.json").write_text(content)
    wrong(tmp_path / "t.json", said)


def test_a_key_of_other_letters_that_is_there_twice(tmp_path: Path) -> None:
    for text in ('{"wört": "a", "wört": "b"}', '{"w\\u00f6rt": "a", "wört": "b"}'):
        (tmp_path / "t.jsonl").write_text(text)
        with pytest.raises(InputError, match=r"t\.jsonl:1: column 'wört' is there 2 times"):
            read_columns(tmp_path / "t.jsonl", ["wört"])


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_column_that_is_there_twice(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array([0]), pa.array([1])], ["text", "n", "n"]), path)
    elif suffix == "jsonl":
        path.write_text('{"text": "a", "n": 1, "n": 2, "deep": {"text": 1, "text": 2}}\n')
    else:
        path.write_text("text,n,n\na,0,1\n".replace(",", "\t" if suffix == "tsv" else ","))
    assert read_columns(path, ["text"]) == {"text": ["a"]}
    with pytest.raises(InputError, match=r"t\.\w+(:1)?: column 'n' is there 2 times; rename or drop one"):
        read_columns(path, ["text", "n"])
    with pytest.raises(InputError, match="is there 2 times"):
        list(iterate_column(path, "n"))


def notes(path: Path, reading: ReadOptions = text_tables.PLAIN) -> list[str]:
    found: list[str] = []
    FileTable((path,), reading).read(["text", "label"], found)
    return found


def test_a_lone_quotation_mark_that_takes_rows_with_it_is_noted_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('text,label\na,0\n"cold soup,0\ngreat tea,1\nends here",1\nb,1\n')
    assert notes(path) == [f"{text_tables.ROWS_IN_A_CELL}: 1, the first in t.csv, line 3"]
    path.write_text('text,label\na,0\n"two\nlines",0\n"two\rmore, and a comma",0\n')
    assert notes(path) == ["quoted cells that hold line ends: 2, the first in t.csv, line 3"]
    path.write_text('text,label\n"a, ""b""",0\n')
    assert notes(path) == []
    path.write_text('text,label\na,0\n"never closed,0\nb,1\n')
    with pytest.raises(InputError, match=r"t\.csv:4: the row that begins in line 3 is not CSV"):
        notes(path)


def test_cells_of_a_tsv_that_look_quoted_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('text\tlabel\nplain "a" b\t0\n"he said ""hi"" 1"\t1\n"quoted"\t1\n"open\t0\nplain\t"pos"\n')
    assert notes(path) == [f"{text_tables.QUOTED}: 3, the first in t.tsv, line 3"]


def test_a_quoted_cell_of_a_csv_behind_a_blank_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('text,label\na,0\nx, "hello"\n, 0\n "a" b,0\n')
    assert notes(path) == [f"{text_tables.BLANK_BEFORE}: 1, the first in t.csv, line 3"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "text,label\na,0\n\ntext,label\nb,1\n", r"t\.csv:4: is the header once more"),
        ("t.tsv", "text\tlabel\na\t0\ntext\tlabel\n", r"t\.tsv:3: is the header once more"),
        ("t.csv", "sep=;\ntext;label\na;0\n", r"t\.csv:1: 'sep=;' is no line of names; remove it"),
        ("t.csv", "sep=,\ntext,label\na,0\n", r"t\.csv:1: 'sep=' is no line of names; remove it"),
        ("t.csv", "\n# made by me, today\ntext,label\na,0\n", r"t\.csv:2: '# made by me' is no line of names"),
        ("t.json", '{"text": {"0": "a", "1": "b"}, "label": {"0": 1, "1": 0}}', "orient='records'"),
        ("t.json", '{"columns": ["text", "label"], "index": [0], "data": [["a", 1]]}', "orient='records'"),
        ("t.json", '[{"text": "a", "label": 0},\n, {"text": "b", "label": 1}]', r":2: is not JSON"),
        ("t.json", '[{"text": "a", "label": 0}\n {"text": "b", "label": 1}]', r":2: is not JSON"),
        ("t.json", '[, {"text": "a", "label": 0}]', r":1: is not JSON"),
        ("t.jsonl", '{"text": "a", "l\\u0061bel": 1, "label": 0}\n', r"t\.jsonl:1: column 'label' is there 2 times"),
    ],
)
def test_what_would_be_misread_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        notes(tmp_path / name)


def test_blank_lines_before_the_header_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n  \ntext,label\na,0\n")
    assert FileTable((path,)).read(["text", "label"]) == {"text": ["a"], "label": ["0"]}


def test_bad_lines_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    skip = ReadOptions(skip_bad_lines=True)
    (tmp_path / "t.jsonl").write_text(f'{FIRST}\n{{"text"\n\n[1]\n{FIRST}\n{"[" * 100_000}\n')
    (tmp_path / "t.csv").write_text("text,label\na,0\nb, c,1\nd,1\ne\n")
    for name, line in (("t.jsonl", 2), ("t.csv", 3)):
        path = tmp_path / name
        assert len(FileTable((path,), skip).read(["text"])["text"]) == 2
        n = 3 if name == "t.jsonl" else 2
        assert notes(path, skip) == [f"lines left out (on_bad_lines: skip): {n}, the first in {name}, line {line}"]
        assert FileTable((path,), skip).fingerprint() != FileTable((path,)).fingerprint()
        with pytest.raises(InputError, match=rf"{name}:{line}: "):
            notes(path)
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(InputError, match="no column 'label'"):
        notes(tmp_path / "t.jsonl", skip)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "conll"])
def test_a_line_without_end_is_one_line_of_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_LINE", 1_000)
    path = tmp_path / f"t.{suffix}"
    begin = {"csv": "text,label\n", "tsv": "text\tlabel\n"}.get(suffix, "")
    path.write_text(begin + "x" * 2_000)
    with pytest.raises(InputError, match=rf"t\.{suffix}:\d: a line of more than 1,000 characters"):
        read_columns(path, ["tokens"] if suffix == "conll" else ["text"])


def test_quoted_cells_have_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "LONGEST_LINE", 1_000)
    (tmp_path / "t.csv").write_text('text,label\n"' + "x\n" * 2_000 + '",0\n')
    wrong(tmp_path / "t.csv", r"t\.csv:\d+: the row that begins in line 2 is not CSV \(field larger than field limit")
