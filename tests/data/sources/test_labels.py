from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.data.sources.class_labels import joined_labels, read_classes
from hashbench.data.sources.feature_names import named_by_features, values_by_features
from hashbench.data.sources.labels import Classes
from hashbench.data.sources.values import read_values

WHERE = {"train": "train.csv", "test": "test.csv"}


def classes(train: list[object], test: list[object] | None = None, names: tuple[str, ...] = (), **options: object):
    columns = {"train": train} | ({"test": test} if test is not None else {})
    read = read_classes(columns, WHERE, Classes.declared(names), **options)
    return {split: ids.tolist() for split, ids in read.ids.items()}, read.names


def names_by_split(train: list[object], test: list[object] | None = None, names: tuple[str, ...] = ()):
    ids, found = classes(train, test, names)
    return {split: [found[number] for number in numbers] for split, numbers in ids.items()}


def wrong(message: str, train: list[object], test: list[object] | None = None, names: tuple[str, ...] = ()) -> None:
    with pytest.raises(InputError, match=message):
        classes(train, test, names)


def test_integers_become_ids_in_their_order() -> None:
    assert classes([5, 1, 10, 1]) == ({"train": [1, 0, 2, 0]}, ("1", "5", "10"))


def test_integers_of_a_csv_file() -> None:
    assert classes(["1", " 0", "1"]) == ({"train": [1, 0, 1]}, ("0", "1"))


def test_whole_floats_and_truth_values_are_integers() -> None:
    assert classes([1.0, 0.0])[0] == classes([True, False])[0] == {"train": [1, 0]}


def test_names_become_ids_in_their_order() -> None:
    assert classes(["no", "yes", "maybe"]) == ({"train": [1, 2, 0]}, ("maybe", "no", "yes"))


def test_names_come_from_all_splits() -> None:
    labels, names = classes(["a", "c"], ["b", "a"])
    assert names == ("a", "b", "c")
    assert labels == {"train": [0, 2], "test": [1, 0]}


def test_known_names_take_ids_and_names() -> None:
    assert classes([0, "yes", "1", "no"], names=("no", "yes"))[0] == {"train": [0, 1, 1, 0]}


def test_a_name_that_is_a_number_is_first_of_all_a_name() -> None:
    assert classes(["1", "0"], names=("1", "0"))[0] == {"train": [0, 1]}


@pytest.mark.parametrize("seven", ["7", 7, 7.0, "7.0"])
def test_a_few_numbers_among_names_are_names_and_noted(seven: object) -> None:
    read = read_classes({"train": ["a", "b", "c", seven]}, WHERE)
    assert read.names == ("7", "a", "b", "c")
    assert read.notes == ("numbers among names of classes: '7'",)


@pytest.mark.parametrize("cell", ["x", "", None, math.nan, 0.5, "0.5", "0,5", "1e3", -1, "-1.0", 1e300, "١", "nan"])
def test_what_is_no_label_among_integers(cell: object) -> None:
    wrong(r"test\.csv: row 2: .* is not a label; expected an integer from 0 on", [0, 1, 1, 0], [0, cell])


@pytest.mark.parametrize("cell", ["", None, math.nan, "nan", "<NA>", b"a"])
def test_what_is_no_label_among_names(cell: object) -> None:
    wrong(r"train\.csv: row 3: .* is not a label; expected a name", ["a", "b", cell])


def test_the_message_shows_the_label() -> None:
    wrong("row 3: 'oops' is not a label", ["0", "1", "oops"])


@pytest.mark.parametrize("cell", [3, -1, "3", "other"])
def test_out_of_range_of_the_names(cell: object) -> None:
    wrong("row 1: .* is not a label; expected 0 to 2, or one of a, b, c", [cell], names=("a", "b", "c"))


def test_one_class_is_no_task() -> None:
    wrong("every label is 'a'; a task needs two or more", ["a", "a"])


def test_values_are_float32() -> None:
    labels = read_values({"train": [1, "2.5", 0.1]}, WHERE).labels["train"]
    assert labels.dtype == np.float32
    assert labels.tolist() == [1.0, 2.5, np.float32(0.1)]


@pytest.mark.parametrize("cell", ["x", "", None, math.nan, math.inf, "nan", True])
def test_what_is_no_value(cell: object) -> None:
    with pytest.raises(InputError, match=r"train\.csv: row 2: .* is not a label; a regression needs finite numbers"):
        read_values({"train": [1.0, cell]}, WHERE)


ONE, ZERO = (
    [1, 1.0, "1", "1.0", " 1 ", Decimal(1), True, "true"],
    [0, 0.0, "0", "0.0", "-0.0", Decimal(0), False, "FALSE"],
)


@pytest.mark.parametrize("names", [(), ("0", "1"), ("1", "0"), ("1", "0", "2"), ("false", "true")])
def test_all_spellings_of_two_numbers_are_two_classes(names: tuple[str, ...]) -> None:
    one, zero = ("true", "false") if "true" in names else ("1", "0")
    if "true" in names:  # numbers stand for them by no name, but by their place
        assert Classes.declared(names).name_of(1) == "true"
    assert names_by_split(ONE + ZERO, None, names)["train"] == [one] * len(ONE) + [zero] * len(ZERO)


@pytest.mark.parametrize(
    ("names", "cells", "right"),
    [
        (("1", "2", "3", "4", "5"), [5, "5", 5.0, "1.0"], ["5", "5", "5", "1"]),
        (("1", "2", "3", "4"), [1, 2, 3], ["1", "2", "3"]),
        (("-1", "0", "1"), [-1, 0, "1", "-1.0"], ["-1", "0", "1", "-1"]),
        (("2021", "2020"), [2020, "2021"], ["2020", "2021"]),
        (("no", "yes"), [1, "0", "Yes", "NO "], ["yes", "no", "yes", "no"]),
        (("0.5", "1.5"), [0.5, "1.5"], ["0.5", "1.5"]),
        (("01", "1"), ["01", "1", 1], ["01", "1", "1"]),
    ],
)
def test_a_cell_that_equals_a_declared_name_is_that_name(names, cells, right) -> None:
    assert names_by_split(cells, None, names)["train"] == right


@pytest.mark.parametrize(
    ("names", "cell"),
    [
        (("1", "2", "3"), 0), (("1", "0"), 2), (("true", "false"), 1), (("true", "false", "half"), 3),
        (("01", "02"), 1), (("yes", "no"), True), (("US", "us"), "Us"),
        (("no", "yes"), -1), (("no", "yes"), 2), (("no", "yes"), 0.5), (("-1", "1"), 0),
    ],
)  # fmt: skip
def test_no_cell_counts_by_its_place_where_a_name_is_a_number_and_none_by_half(names, cell) -> None:
    assert Classes.declared(names).name_of(cell) is None


def test_truth_values_and_their_texts_are_one_class() -> None:
    assert names_by_split([True, False], ["True", "FALSE"]) == {"train": ["True", "FALSE"], "test": ["True", "FALSE"]}
    assert names_by_split([True, False], [1, 0, "1.0"]) == {"train": ["1", "0"], "test": ["1", "0", "1"]}
    assert names_by_split(["true", "half-true", "false"], [False])["test"] == ["false"]


def test_numbers_of_truth_values_mean_them_where_no_order_says_otherwise() -> None:
    assert [Classes(("True", "False")).name_of(cell) for cell in (1, "0", 1.0, 2)] == ["True", "False", "True", None]
    assert Classes(("true", "false", "half-true")).name_of(1) is None


def test_leading_zeros_make_all_labels_names() -> None:
    read = read_classes({"train": ["01", "1", "10", "1"]}, WHERE)
    assert read.names == ("01", "1", "10") and read.ids["train"].tolist() == [0, 1, 2, 1]
    assert read.notes == ("labels '01' and '1' are two classes",)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (["01", "02", "10"], ["1", "2", "10"]),  # a spreadsheet took the zeros away
        (["01", "02"], [1, 2]),
        (["01", "1", "2"], [1, 2]),
        (["+1", "-1", "1"], None),
        (["Positive", "positive", "negative"], None),
        (["Positive", "Negative"], ["positive", "negative"]),
        (["a b", "c"], ["a  b", "c"]),
        (["ja", "ne\u0301"], ["ja", "n\u00e9"]),
        (["good", "bad"], ["good\u200b", "bad"]),
    ],
)
def test_two_spellings_that_may_be_one_class_are_refused(train, test) -> None:
    wrong("one class in two spellings, or two classes\\? list the classes", train, test)


def test_signs_are_names() -> None:
    assert names_by_split(["+1", "-1"], ["-1"])["test"] == ["-1"]


def test_minus_one_is_a_class_beside_one_alone_or_other_negative_numbers() -> None:
    assert classes([1, -1])[1] == ("-1", "1")
    assert classes([-2, -1, 0, 1, 2])[1] == ("-2", "-1", "0", "1", "2")
    wrong(r"row 1: -1 is not a label; .*; -1 often means no label: leave such rows out, or list", [-1, 0, 1])


@pytest.mark.parametrize("column", [[0.5, 1.5, 2.5], ["0.5", "1.5", "2.5"], ["0,5", "1,5"], ["1e-3", "2e-3"]])
def test_decimal_numbers_are_no_classes(column: list[object]) -> None:
    wrong("is not a label; .*; numbers to predict as such need metric: pearson or spearman", column)


@pytest.mark.parametrize("cell", [[0, 1], ["O", "B-PER"], []])
def test_a_list_is_no_label(cell: object) -> None:
    wrong(r"row 1: \[.*\] is not a label; .* need metric: label_f1_micro, tags.*, metric: span_f1", [cell, [1]])
    wrong(r"row 1: .* is not a label; expected a name.*several labels a row need", [str(cell), "a", "b"])
    wrong("is nested", [{"a": 1}])


def test_large_numbers_stay_apart_and_no_length_of_digits_is_too_much() -> None:
    assert classes([10**18 + 1, 10**18 + 2])[1] == (str(10**18 + 1), str(10**18 + 2))
    wrong("is not a label", ["1", "0", "9" * 6_000])


@pytest.mark.parametrize("names", [(), ("a", "b", "c", "d")])
def test_a_split_of_labels_that_train_never_has_is_refused(names: tuple[str, ...]) -> None:
    wrong(r"^test\.csv: no row has a label that train has \(c, d; train: a, b\)", ["a", "b"], ["c", "d"], names)


def test_what_often_means_no_label_is_noted() -> None:
    read = read_classes({"train": ["a", "b", "-"]}, WHERE)
    assert read.notes == ("counted as a class, though it often means no label: '-'",)


def test_another_spelling_of_a_declared_name_is_noted() -> None:
    read = read_classes({"train": ["Good", "bad", "1"]}, WHERE, Classes.declared(["bad", "good"]))
    assert read.ids["train"].tolist() == [1, 0, 1] and read.notes == (
        "labels read in another spelling: 'Good' as 'good'",
    )


def test_a_mapping_says_what_the_cells_mean() -> None:
    known = Classes.declared((), [("0", "entailment"), ("1", "neutral"), ("b", "neutral")])
    assert [known.name_of(cell) for cell in (0, "1.0", "b", "neutral", 2)] == [
        "entailment",
        "neutral",
        "neutral",
        "neutral",
        None,
    ]
    swapped = Classes.declared((), [("0", "1"), ("1", "0")])
    assert [swapped.name_of(cell) for cell in (0, "1")] == ["1", "0"]


def test_the_positive_class_is_the_second() -> None:
    assert classes(["duplicate", "not", "not"], positive="duplicate") == ({"train": [1, 0, 0]}, ("not", "duplicate"))
    assert classes([1, 0], positive="0") == ({"train": [0, 1]}, ("1", "0"))
    for train, positive in (["a", "b"], "c"), (["a", "b", "c"], "a"):
        with pytest.raises(InputError, match=f"positive: '{positive}' is none of two classes; the classes are a, b"):
            classes(train, positive=positive)


def test_names_of_features_take_the_place_of_their_numbers() -> None:
    columns = {"train": [0, 1], "test": ["yes", 1], "other": [1, 0]}
    features = {"train": ("no", "yes"), "test": (), "other": ("yes", "no")}
    named, names = named_by_features(columns, features, None)
    assert names == ("no", "yes")
    assert named == {"train": ["no", "yes"], "test": ["yes", 1], "other": ["no", "yes"]}
    assert named_by_features({"train": [[0, 1]]}, {"train": ("O", "B-x")}, None)[0] == {"train": [["O", "B-x"]]}


@pytest.mark.parametrize(
    ("declared", "labels", "right"),
    [
        (("yes", "no"), (), ["no", "yes"]),  # by name
        (("nein", "ja"), (), [0, 1]),  # other names: by the place that the task declares
        ((), (("0", "no"), ("1", "yes")), ["no", "yes"]),  # both mean the same
        ((), (("0", "nein"), ("1", "ja")), [0, 1]),  # the task says what the numbers mean
        ((), (("no", "bad"), ("yes", "good")), ["no", "yes"]),
    ],
)
def test_declared_classes_count_over_those_of_features(declared, labels, right) -> None:
    known = Classes.declared(declared, labels)
    named, names = named_by_features({"train": [0, 1]}, {"train": ("no", "yes")}, known)
    assert named["train"] == right and names == known.names
    with pytest.raises(InputError, match="train: the file names its classes no, yes, the task no, other"):
        named_by_features({"train": [0]}, {"train": ("no", "yes")}, Classes.declared(("no", "other")))


@pytest.mark.parametrize(
    ("features", "declared", "labels"),
    [
        ({"train": ("neg", "pos"), "test": ("pos", "neg")}, ("bad", "good"), ()),
        ({"train": ("neg", "pos"), "test": ("pos", "neg")}, (), (("0", "bad"), ("1", "good"))),
        ({"train": (), "test": ("pos", "neg")}, (), (("0", "neg"), ("1", "pos"))),  # names and numbers differ
        ({"train": (), "test": ("positive", "negative")}, ("neg", "pos"), ()),
        ({"test": ("positive", "negative")}, ("neg", "pos"), ()),  # a further set
        ({"train": ("1", "0")}, ("neg", "pos"), ()),
        ({"train": ("1", "2", "3")}, (), (("0", "none"), ("1", "neg"), ("2", "neu"), ("3", "pos"))),
        ({"train": ("a", "a", "b")}, (), ()),
        ({"train": ("a", "a ", "b")}, ("a", "b"), ()),
        ({"test": ("B-Q", "I-Q", "b-none")}, ("O", "B-P", "I-P"), ()),
    ],
)
def test_names_of_features_that_may_mean_other_classes_are_refused(features, declared, labels) -> None:
    columns = {split: [0, 1] for split in features}
    split = list(features)[-1]
    with pytest.raises(InputError, match=f"^{split}.parquet: "):
        where = {split: f"{split}.parquet" for split in features}
        named_by_features(columns, features, Classes.declared(declared, labels), where)


@given(st.permutations(["neg", "neu", "pos"]), st.permutations(["neg", "neu", "pos"]), st.booleans())
def test_no_order_of_names_in_files_changes_what_a_row_means(of_train, of_test, is_mapping) -> None:
    """Rows keep the name that their file gives them, or there is an error."""
    names = ["neg", "neu", "pos"]
    declared = Classes.declared((), [(str(at), name) for at, name in enumerate(names)] if is_mapping else ())
    features = {"train": tuple(of_train), "test": tuple(of_test)}
    try:
        named, found = named_by_features({"train": [0, 1, 2], "test": [0, 1, 2]}, features, declared)
    except InputError:
        assert is_mapping and (of_train != names or of_test != names)
        return
    read = read_classes(named, {"train": "train", "test": "test"}, declared or Classes.declared(found))
    assert [read.names[at] for at in read.ids["train"]] == of_train
    assert [read.names[at] for at in read.ids["test"]] == of_test


def test_names_of_tables_that_may_be_one_class_or_give_numbers_two_meanings_are_refused() -> None:
    columns: dict[str, list[object]] = {"train": [0, 1], "validation": [0, 1], "test": [0, 1]}
    with pytest.raises(InputError, match="test: classes 'Neg' and 'neg': one class in two spellings, or two classes"):
        named_by_features(columns, {"train": ("Neg", "Pos"), "test": ("neg", "Pos")}, None)
    orders = {"train": (), "validation": ("neg", "pos"), "test": ("pos", "neg")}
    with pytest.raises(InputError, match="train: numbers without names, which are neg, pos in one file"):
        named_by_features(columns, orders, None)
    assert named_by_features({**columns, "train": ["neg", "pos"]}, orders, None)[1] == ("neg", "pos")


@pytest.mark.parametrize("of_type", [int, float, str, Decimal])
def test_numbers_of_a_feature_are_places_in_every_type(of_type: type) -> None:
    cells = {"train": [of_type(0), of_type(1)]}
    for names in ("pos", "neg"), ("neg", "pos"):
        assert named_by_features(cells, {"train": names}, Classes.declared(("neg", "pos")))[0] == {"train": [*names]}
    assert named_by_features({"train": ["0", "1"]}, {"train": ("1", "0")}, None)[0] == {"train": ["0", "1"]}


def test_names_of_features_that_are_numbers_are_the_values_of_a_regression() -> None:
    where = {"train": "train.parquet", "test": "test.parquet"}
    columns: dict[str, list[object]] = {"train": [0, 1, 2], "test": [0, 1, 2]}
    named = values_by_features(columns, {"train": ("5", "1", "3.5"), "test": ("1", "3.5", "5")}, where)
    values = read_values(named, where).labels
    assert values["train"].tolist() == [5, 1, 3.5] and values["test"].tolist() == [1, 3.5, 5]
    same = {"train": ("bad", "good"), "test": ("bad", "good")}
    assert values_by_features(columns, same, where) == columns
    with pytest.raises(InputError, match="test.parquet: the file names its labels good, bad, which are no numbers"):
        values_by_features(columns, {**same, "test": ("good", "bad")}, where)


@pytest.mark.parametrize("cell", [1e39, "1e39", 3.4028236e38, "-3.4028236e38", 10**400, Decimal("1e400")])
def test_a_value_that_no_float32_holds_is_refused(cell: object) -> None:
    with pytest.raises(InputError, match="x: row 1: .* is not a label; a regression needs finite numbers"):
        read_values({"train": [cell]}, {"train": "x"})


@pytest.mark.parametrize("other", ["\u2764\ufe0f", "\u2764\u200b", "\u2764\ufe0e", "\u2764\u034f"])
def test_names_that_look_equal_are_shown_with_escapes(other: str) -> None:
    wrong("labels '.u2764.*' and '.u2764.*': one class in two spellings", ["\u2764", other, "x"])


@pytest.mark.parametrize("name", ["None", "N/A", "?"])
def test_a_class_that_may_be_a_missing_cell_is_noted_declared_or_not(name: str) -> None:
    for declared in None, Classes.declared((name, "x")):
        read = read_classes({"train": [name, "x"]}, {"train": "train"}, declared)
        assert read.notes == (f"counted as a class, though it often means no label: {name!r}",)


def test_the_spellings_of_a_mapping_are_named() -> None:
    mapped = Classes.declared((), [("0", "neg"), ("4", "pos")])
    with pytest.raises(InputError, match="row 1: 3 is not a label; expected 0, 4, or one of neg, pos$"):
        read_classes({"train": [3]}, {"train": "train"}, mapped)


TYPES = {
    "text": str,
    "padded text": lambda number: f" {number} ",
    "float text": lambda number: f"{number}.0",
    "int": int,
    "float": float,
    "decimal": Decimal,
}
a_type = st.sampled_from(sorted(TYPES))


@given(st.data(), st.lists(st.integers(-3, 12), min_size=2, max_size=6, unique=True), st.booleans())
def test_numbers_as_names_are_their_classes_in_every_type(data, numbers, declared) -> None:
    """The plain rule: the class of a cell is the number that it writes, whatever its type; or an error."""
    names = tuple(map(str, numbers))
    rows = [
        (number, data.draw(a_type)) for number in numbers + data.draw(st.lists(st.sampled_from(numbers), max_size=9))
    ]
    cells = [TYPES[name](number) for number, name in rows]
    try:
        found = names_by_split(cells, cells[::-1], names if declared else ())
    except InputError:
        assert not declared and -1 in numbers  # which may mean that there is no label
        return
    assert found == {"train": [str(number) for number, _ in rows], "test": [str(number) for number, _ in rows][::-1]}


label_text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@given(
    st.lists(label_text, min_size=1, max_size=6), st.lists(st.one_of(label_text, st.integers(-2, 9), st.booleans())),
    st.booleans(),
)  # fmt: skip
def test_equal_cells_are_equal_classes_and_different_names_are_different_ones(names, more, declared) -> None:
    """Of any labels: a cell that is a name is that name, equal texts are one class, or there is an error."""
    cells = [*names, *more]
    known = tuple(dict.fromkeys(name.strip() for name in names)) if declared else ()
    try:
        found = names_by_split(cells, cells, known)
    except InputError:
        return
    assert found["train"] == found["test"]
    for cell, name in zip(cells, found["train"], strict=True):
        if declared and isinstance(cell, str) and cell.strip() in known:
            assert name == cell.strip()
    texts = {cell.strip(): name for cell, name in zip(cells, found["train"], strict=True) if isinstance(cell, str)}
    folded = {text.casefold(): name for text, name in texts.items()}
    if not declared:  # no two classes of one, and no one of two
        assert all(folded[text.casefold()] == name for text, name in texts.items())
        plain = {text: name for text, name in texts.items() if text.isalpha() and text.lower() not in ("true", "false")}
        assert len(set(plain.values())) == len(plain)


@pytest.mark.parametrize(
    ("names", "joined"),
    [
        (["a|b", "b|a"], "'|': 'a|b', 'b|a'"),
        (["a;b", "a", "b"], "';': 'a;b'"),
        (["a, b", "B,c"], "',': 'B,c', 'a, b'"),
        (["x+y", "y+x"], "'+': 'x+y', 'y+x'"),
        (["joy anger", "anger joy", "New York"], "' ': 'anger joy', 'joy anger'"),
        (["a||b", "b"], "'|': 'a||b'"),
        (["a\tb", "b"], "'\\t': 'a\\tb'"),
        (["joy+anger", "anger", "Joy"], "'+': 'joy+anger'"),
        (["joy/anger", "anger", "joy"], "'/': 'joy/anger'"),
        (["joy and anger", "anger", "joy"], "' and ': 'joy and anger'"),
        (["joy::anger", "anger", "joy"], "'::': 'joy::anger'"),
        (["joy_anger", "anger", "joy"], "'_': 'joy_anger'"),
        (["joy anger", "anger", "joy"], "' ': 'joy anger'"),
        (["very good", "good", "very bad", "bad", "Sci/Tech", "Tech", "north-east", "north", "east"], ""),
        (["airfare#flight", "flight", "C#"], "'#': 'airfare#flight'"),
        (["Sci/Tech", "Sci", "Business, finance", "Arts; crafts"], ""),  # one name with a mark in it
        (["1,5", "2,5", "1;2", "2;3"], "';': '1;2', '2;3'"),  # numbers with a comma are numbers
        (["a|", "|a", "|"], ""),
        (["1/5", "2/5"], ""),
    ],
)
def test_names_that_may_be_several_labels_are_noted(names: list[str], joined: str) -> None:
    remark = "each counts as one class; to split it: metric: label_f1_micro, separator: "
    noted = f"perhaps several labels a row, joined by {joined} ({remark}{joined.partition(': ')[0]})"
    assert joined_labels(names) == ([noted] if joined else [])
