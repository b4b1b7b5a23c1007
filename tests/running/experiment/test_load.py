"""running/experiment/load.py and complaints.py: each fault of a file is one line with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.running.experiment.load import Loaded, load_experiment
from hashbench.running.experiment.models import resolve_models

BASE = "name: x\nmodels: [bert-mlm]\n"


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function from text and overrides to what is loaded from a.yaml in the working folder."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(text: str, *overrides: str) -> Loaded:
        Path("a.yaml").write_text(text)
        return load_experiment("a.yaml", overrides)

    return write_and_load


FAULTS = {
    "unknown key": (
        "pretrain:\n  bach_size: 3\n",
        "a.yaml:4: unknown key 'pretrain.bach_size'; did you mean 'batch_size' or 'micro_batch_size'? "
        "(list: hashbench schema)",
    ),
    "a key of another block": (
        "finetune:\n  keep_weights: best\n",
        "a.yaml:4: unknown key 'finetune.keep_weights'; 'keep_weights' stands at the top level of the file, in no "
        "block (list: hashbench schema)",
    ),
    "unknown key without a neighbour": ("zzz: 3\n", "a.yaml:3: unknown key 'zzz' (list: hashbench schema)"),
    "a seed that no generator takes": (
        "seeds: [4294967295, 4294967296]\n",
        "a.yaml:3: entry 2 of seeds: must be at most 4294967295, not 4294967296; correct the value",
    ),
    "a seed of the pre-training": (
        "pretrain:\n  seed: 4294967296\n",
        "a.yaml:4: pretrain.seed: must be at most 4294967295, not 4294967296; correct the value",
    ),
    "a seed of the noise": (
        "robustness: {seed: 4294967296}\n",
        "a.yaml:3: robustness.seed: must be at most 4294967295, not 4294967296; correct the value",
    ),
    "a seed of the split": (
        "entities: {split_seed: 4294967296}\n",
        "a.yaml:3: entities.split_seed: must be at most 4294967295, not 4294967296; correct the value",
    ),
    "a number that no database stores": (
        "finetune: {steps: 9223372036854775808}\n",
        "a.yaml:3: finetune.steps: is beyond 9223372036854775807, the largest number; take a smaller",
    ),
    "such a number in a list": (
        "seeds: [0, 18446744073709551616]\n",
        "a.yaml:3: entry 2 of seeds: is beyond 9223372036854775807, the largest number; take a smaller",
    ),
    "such a number in a mapping": (
        "finetune:\n  per_task:\n    cola: {epochs: 9223372036854775808}\n",
        "a.yaml:5: finetune.per_task.cola.epochs: is beyond 9223372036854775807, the largest number; take a smaller",
    ),
    "half of a character": (
        'data: "\\ud800"\n',
        "a.yaml:3: data: holds '\\ud800', half of a character; write the whole character",
    ),
    "half of a character in a key": (
        'finetune: {"x\\udfff": 1}\n',
        "a.yaml:3: finetune: holds '\\udfff', half of a character; write the whole character",
    ),
    "a directive": (
        "%YAML 1.1\n",
        "a.yaml:3: a line that begins with % is a directive of YAML; leave it out",
    ),
    "the initials of a key": (
        "finetune: {lr: 3e-4}\n",
        "a.yaml:3: unknown key 'finetune.lr'; did you mean 'learning_rate'? (list: hashbench schema)",
    ),
    "a task in capitals": (
        "tasks: [SST2]\n",
        "a.yaml:3: unknown task 'SST2'; did you mean 'sst2'? (list: hashbench data list)",
    ),
    "negative steps": (
        "pretrain:\n  steps: -5\n",
        "a.yaml:4: pretrain.steps: must be greater than 0, not -5; correct the value",
    ),
    "wrong type": (
        "pretrain: {steps: many}\n",
        "a.yaml:3: pretrain.steps: must be a whole number, not 'many'; correct the value",
    ),
    "a number in quotes": (
        "pretrain: {steps: '12'}\n",
        "a.yaml:3: pretrain.steps: must be a whole number, not '12'; correct the value",
    ),
    "true as a number": (
        "pretrain: {steps: true}\n",
        "a.yaml:3: pretrain.steps: must be a whole number, not True; correct the value",
    ),
    "infinity": (
        "pretrain: {learning_rate: .inf}\n",
        "a.yaml:3: pretrain.learning_rate: must be a finite number, not inf; correct the value",
    ),
    "a value for a block": ("finetune: 3\n", "a.yaml:3: finetune: must be a block of keys, not 3; correct the value"),
    "neither of two forms": (
        "finetune: {learning_rate: high}\n",
        "a.yaml:3: finetune.learning_rate: must be a number or a list, not 'high'; correct the value",
    ),
    "an item of a list": (
        "finetune:\n  learning_rate:\n    - 1\n    - x\n",
        "a.yaml:6: entry 2 of finetune.learning_rate: must be a number, not 'x'; correct the value",
    ),
    "one of several words": (
        "encoder: bas\n",
        "a.yaml:3: encoder: must be 'tiny', 'mini', 'small', 'medium' or 'base', not 'bas'; did you mean 'base'?",
    ),
    "a kind of encoder for its size": (
        "encoder: average\n",
        "a.yaml:3: encoder: must be 'tiny', 'mini', 'small', 'medium' or 'base', not 'average'; correct the value",
    ),
    "arguments of an encoder for its size": (
        "encoder: {kind: average}\n",
        "a.yaml:3: encoder: must be 'tiny', 'mini', 'small', 'medium' or 'base', not {'kind': 'average'}; "
        "correct the value",
    ),
    "duplicate anchor": (
        "averages: {a: &x [cola], b: &x [sst2]}\n",
        "a.yaml:3: anchor '&x' stands twice; give one of them another name",
    ),
    "duplicate key": ("name: y\n", "a.yaml:3: key 'name' stands twice; keep one of them"),
    "a seed twice": ("seeds: [0, 0]\n", "a.yaml:3: '0' stands twice in seeds; keep one of them"),
    "a negative seed": ("seeds: [-1]\n", "a.yaml:3: entry 1 of seeds: must be at least 0, not -1; correct the value"),
    "a task without text": (
        "tasks: [{name: a, path: b}]\n",
        "a.yaml:3: key 'text' of entry 1 of tasks is missing; add it, and path or hub; a task that comes with "
        "hashbench is its name alone, without keys (keys: hashbench schema)",
    ),
    "rows of a task of the suite": (
        "tasks: [{name: sst2, max_rows: 9}]\n",
        "a.yaml:3: key 'text' of entry 1 of tasks is missing; add it, and path or hub; a task that comes with "
        "hashbench is its name alone, without keys (keys: hashbench schema)",
    ),
    "an unknown key of a task": (
        "tasks:\n  - name: a\n    pathh: b\n    path: b\n    text: c\n",
        "a.yaml:5: unknown key 'pathh' of entry 1 of tasks; did you mean 'path'? (list: hashbench schema)",
    ),
    "a typo of path": (
        "tasks: [{name: a, pth: b, text: c}]\n",
        "a.yaml:3: unknown key 'pth' of entry 1 of tasks; did you mean 'path'? (list: hashbench schema)",
    ),
    "neither path nor hub": (
        "tasks: [{name: a, text: c}]\n",
        "a.yaml:3: entry 1 of tasks: give path, a folder, or hub, a data set of the Hugging Face hub: one of the two",
    ),
    "path and hub": (
        "tasks: [{name: a, path: b, hub: c/d, text: c}]\n",
        "a.yaml:3: entry 1 of tasks: give path, a folder, or hub, a data set of the Hugging Face hub: one of the two",
    ),
    "no name of the hub": (
        "tasks:\n- name: a\n  hub: ../secret\n  text: c\n",
        "a.yaml:5: hub of entry 1 of tasks: '../secret' is no data set of the hub; write OWNER/NAME, with @COMMIT "
        "behind it to pin it",
    ),
    "a config in the name": (
        "tasks: [{name: a, hub: 'c/d:en', text: c}]\n",
        "a.yaml:3: hub of entry 1 of tasks: 'c/d:en' names a config; give it as config: en",
    ),
    "a config of a folder": (
        "tasks: [{name: a, path: b, config: en, text: c}]\n",
        "a.yaml:3: entry 1 of tasks: config is of a data set of the hub; leave it out",
    ),
    "a key of files with hub": (
        "tasks: [{name: a, hub: c/d, delimiter: ';', text: c}]\n",
        "a.yaml:3: entry 1 of tasks: delimiter is of files in a folder; leave it out",
    ),
    "three text columns": (
        "tasks: [{name: a, path: b, text: [x, y, z]}]\n",
        "a.yaml:3: text of entry 1 of tasks: must be text or a list of at most 2, not ['x', 'y', 'z']; "
        "correct the value",
    ),
    "an empty list": ("seeds: []\n", "a.yaml:3: seeds: must not be empty; give at least 1"),
    "a list that is too short": ("averages: {a: [cola]}\n", "a.yaml:3: averages.a: has 1; give at least 2"),
    "an unclosed bracket": (
        "seeds: [0\n",
        "a.yaml:4: not YAML: expected ',' or ']', but got '<stream end>'; check quotes and indentation",
    ),
    "wrong indentation": (
        "pretrain:\n    steps: 3\n  batch_size: 4\n",
        "a.yaml:5: not YAML: expected <block end>, but found '<block mapping start>'; check quotes and indentation",
    ),
    "an alias of itself": (
        "pretrain: &a {steps: *a}\n",
        "a.yaml:3: pretrain.steps: must be a whole number, not nothing; correct the value",
    ),
    "no as text": (
        "tracking: {wandb: no}\n",
        "a.yaml:3: tracking.wandb: must be 'off', 'offline' or 'online', not 'no'; correct the value",
    ),
}


@pytest.mark.parametrize("what", ["experiment", "model"])
def test_names_have_a_limit(load, what: str) -> None:
    """Folders and files are named after both."""

    def named(length: int) -> str:
        name = "a" * length
        return (
            f"name: {name}\nmodels: [bert-mlm]\n"
            if what == "experiment"
            else f"name: e\nmodels:\n- {{name: {name}, like: bert-mlm}}\n"
        )

    assert load(named(128))
    with pytest.raises(
        InputError, match=r"a.yaml:[13]: name.*: must be text of at most 128 characters, not 'a+\.\.\.;"
    ):
        load(named(129))


@pytest.mark.parametrize(("lines", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_one_line_with_file_and_line(load, lines: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load(BASE + lines)
    assert str(error.value) == message


def test_a_missing_key_is_named(load) -> None:
    with pytest.raises(InputError, match=r"^a\.yaml: key 'models' is missing; add it"):
        load("name: x\n")


def test_models_that_are_no_list(load) -> None:
    with pytest.raises(InputError, match=r"^a\.yaml:2: models: must be a list, not 3; correct the value$"):
        load("name: x\nmodels: 3\n")


def test_like_and_use_together(load) -> None:
    with pytest.raises(InputError, match=r"^a\.yaml:2: entry 1 of models: give either like or use, not both$"):
        load("name: x\nmodels: [{name: m, like: a, use: b.py:C}]\n")


def test_unknown_key_of_a_model(load) -> None:
    with pytest.raises(InputError, match=r"^a\.yaml:4: unknown key 'lik' of entry 2 of models; did you mean 'like'\?"):
        load("name: x\nmodels:\n  - bert-mlm\n  - {name: m, lik: a}\n")


OVERRIDE_FAULTS = {
    "finetune.epoch=3": "override finetune.epoch=3: unknown key 'finetune.epoch'; did you mean 'epochs'? "
    "(list: hashbench schema)",
    "rubbish=3": "override rubbish=3: unknown key 'rubbish' (list: hashbench schema)",
    "finetune.epochs=0": "override finetune.epochs=0: finetune.epochs: must be greater than 0 or a list, "
    "not 0; correct the value",
    "seeds": "override seeds: is not of the form key=value; as in finetune.epochs=3",
    ".": "override .: is not of the form key=value; as in finetune.epochs=3; a further folder is given as --data .",
    "name.x=3": "override name.x=3: 'name' is given whole, as name=VALUE; or change the file",
    "seeds=0,1": "override seeds=0,1: seeds: must be a list, not '0,1'; write [0,1]",
    "finetune.per_task.sst2.epochs=2": "override finetune.per_task.sst2.epochs=2: 'finetune.per_task' is "
    "given whole, as finetune.per_task=VALUE; or change the file",
    "models.7.finetune=3": "override models.7.finetune=3: no entry '7' of models; it has bert-mlm; write "
    "models.NAME.KEY=VALUE",
    "models.bert-mlm.finetun.epochs=3": "override models.bert-mlm.finetun.epochs=3: unknown key 'finetun' of entry 1 "
    "of models; did you mean 'finetune'? (list: hashbench schema)",
    "models.bert-mlm=3": "override models.bert-mlm=3: name a key of 'bert-mlm', as models.bert-mlm.KEY=VALUE",
    "tasks.0.max_rows=50": "override tasks.0.max_rows=50: no entry '0' of tasks; the file has no list of tasks; write "
    "tasks.NAME.KEY=VALUE",
    "seeds=[0,1": "override seeds=[0,1: the value is not YAML; put it in quotes",
}


@pytest.mark.parametrize(("override", "message"), OVERRIDE_FAULTS.items())
def test_a_wrong_override_is_named(load, override: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load(BASE, override)
    assert str(error.value) == message


def test_overrides_are_read_as_the_file_is(load) -> None:
    experiment = load(BASE + "efficiency: true\n", "finetune.epochs=3", "seeds=[0,4]", "efficiency.pairs=2").experiment
    assert (experiment.finetune.epochs, experiment.seeds, experiment.efficiency.pairs) == (3, (0, 4), 2)


def test_an_override_wins_over_the_file(load) -> None:
    assert load(BASE + "pretrain: {steps: 3}\n", "pretrain.steps=7").experiment.pretrain.steps == 7


def test_an_override_picks_entries_of_the_file_by_their_names(load) -> None:
    """`models=[NAME]` runs a part of an experiment whose models are variations of its own."""
    text = "name: x\nmodels: [{name: a, like: bert-mlm, encoder: {layers: 3}}, {name: b, like: bert-sr}, 7]\n"
    text += "tasks: [cola, {name: mine, path: p, text: t, label: l, metric: f1}]\n"
    experiment = load(text, "models=[a, bert-sr]", "tasks=[mine]").experiment
    first, second = experiment.models
    assert (first.name, first.like, first.encoder, second) == ("a", "bert-mlm", {"layers": 3}, "bert-sr")
    assert [task.path for task in experiment.tasks] == ["p"]


NAMED = """name: x
models: [bert-mlm, {name: k-0.8, like: bert-sr, coder: vocabulary}, {name: k, like: bert-sr, pretrain: {corpora: [a]}}]
tasks: [cola, {name: mine, path: p, text: t}]
"""


def test_an_override_reaches_into_an_entry_by_its_name(load) -> None:
    changes = ("models.k-0.8.coder.size=3", "models.bert-mlm.finetune.epochs=2", "models.k.objective=none")
    loaded = load(NAMED, *changes, "tasks.mine.max_rows=50", "models.k.finetune.per_task={mine: {epochs: 1}}")
    first, second, third = loaded.experiment.models
    assert (first.name, first.finetune) == ("bert-mlm", {"epochs": 2})
    assert (second.name, second.like, second.coder) == ("k-0.8", "bert-sr", {"kind": "vocabulary", "size": 3})
    assert (third.objective, third.finetune) == ("none", {"per_task": {"mine": {"epochs": 1}}})
    assert [getattr(task, "max_rows", None) for task in loaded.experiment.tasks] == [None, 50]
    assert loaded.where("models", 0, "finetune", "epochs") == "override models.bert-mlm.finetune.epochs=2"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("tasks.cola.max_rows=5", "'cola' is a task of the suite, which has no keys of its own; .*per_task={cola: "),
        ("tasks.mine.max_rows=1", "max_rows of entry 2 of tasks: must be greater than 1"),
        ("tasks.mine.rows=5", "unknown key 'rows' of entry 2 of tasks"),
        ("models.k.finetune.epoch=1", "unknown key"),
        ("models..finetune=1", "no entry ''"),
    ],
)
def test_a_wrong_override_of_an_entry_is_named(load, override: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^override {re.escape(override)}: .*{message}"):
        resolve_models(load(NAMED, override))


@pytest.mark.parametrize("override", ["models.k.finetune.epochs.x=1", "models.k.pretrain.corpora.x=1"])
def test_an_override_into_a_value_without_keys_is_one_line(load, override: str) -> None:
    with pytest.raises(InputError, match="epochs of entry 3 of models: must|corpora of entry 3 of models: must"):
        resolve_models(load(NAMED, override))


def test_a_mapping_is_read_as_a_file_is(load) -> None:
    values = {"name": "x", "models": ("bert-mlm",), "seeds": [0, 1], "finetune": {"epochs": 2.0}}
    loaded = load_experiment(values, ["finetune.epochs=3"])
    assert (loaded.experiment.seeds, loaded.experiment.finetune.epochs) == ((0, 1), 3)
    assert values["finetune"] == {"epochs": 2.0} and loaded.folder == Path.cwd()
    assert load_experiment({"name": "x", "models": ["bert-mlm"]}).experiment == load(BASE).experiment


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "the experiment: .*name"),
        ({"name": "x", "models": ["bert-mln"]}, "the experiment: unknown model 'bert-mln'; did you mean 'bert-mlm'"),
        ({"name": "x", "models": ["bert-mlm"], "seds": 1}, "the experiment: unknown key 'seds'; did you mean 'seeds'"),
        ({"name": "x", "models": ["bert-mlm"], "seeds": {0, 1}}, "the experiment: seeds: must be a list"),
    ],
)
def test_a_wrong_mapping_is_one_line(values: dict, message: str) -> None:
    with pytest.raises(InputError, match=rf"^{message}"):
        load_experiment(values)


def test_yaml_1_2_numbers(load) -> None:
    """`1e-4` is a number, `500_000` and `1e5` are whole ones, and `no` is text."""
    pretrain = load(
        BASE + "pretrain: {steps: 1e5, learning_rate: 1e-4, batch_size: 5_000, corpora: [no]}\n"
    ).experiment.pretrain
    assert (pretrain.steps, pretrain.learning_rate, pretrain.batch_size, pretrain.corpora) == (
        100_000,
        1e-4,
        5_000,
        ("no",),
    )


def test_what_is_no_readable_text_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(BASE)
    Path("empty.yaml").write_text("  \n")
    Path("binary.yaml").write_bytes(bytes(range(256)))
    Path("list.yaml").write_text("- a\n")
    messages = {
        "none.yaml": "none.yaml: no such file; in that folder: binary.yaml, empty.yaml, good.yaml, list.yaml",
        ".": ".: is a folder; name an experiment file in it; in that folder: binary.yaml, empty.yaml, good.yaml, "
        "list.yaml",
        "empty.yaml": "empty.yaml: is empty; an experiment needs at least name and models (keys: hashbench schema)",
        "binary.yaml": "binary.yaml: is not a text file; an experiment is written in YAML (keys: hashbench schema)",
        "list.yaml": "list.yaml:1: is not a block of keys; write 'name: ...' and so on (keys: hashbench schema)",
    }
    for name, message in messages.items():
        with pytest.raises(InputError) as error:
            load_experiment(name)
        assert str(error.value) == message


def test_sources_are_relative_to_the_file_and_given_ones_to_the_working_folder(load, tmp_path: Path) -> None:
    loaded = load(BASE + "data: [../d, builtin]\n")
    assert loaded.sources() == (str(tmp_path.parent / "d"), "builtin")
    (tmp_path / "elsewhere").mkdir()
    assert loaded.sources(["e", "hub"]) == (str(tmp_path / "e"), "hub")


def test_an_own_task_has_its_path_made_absolute(load, tmp_path: Path) -> None:
    loaded = load(BASE + "tasks: [cola, {name: subj, path: sets/subj, text: sentence}]\n")
    assert loaded.task_entry("subj").path == str(tmp_path / "sets/subj")
    assert loaded.task_entry("cola") is None


def test_aliases_that_multiply_are_refused(load) -> None:
    lists = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lists += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(InputError, match=r"a\.yaml: its aliases stand for more than 50,000 values or 100 levels"):
        load("\n".join(lists))


def test_merge_keys_that_multiply_are_refused(load) -> None:
    """Merged keys have no line of their own: each level holds nine times the one before it."""
    blocks = ["x0: &x0 {a: 1}"]
    blocks += [f"x{n}: &x{n} {{<<: {{{', '.join(f'{key}: *x{n - 1}' for key in 'abcdefghi')}}}}}" for n in range(1, 12)]
    with pytest.raises(InputError, match=r"a\.yaml: its aliases stand for more than 50,000 values or 100 levels"):
        load("\n".join(blocks))


def test_an_alias_of_itself_is_refused(load) -> None:
    with pytest.raises(InputError, match=r"a\.yaml"):
        load("name: &a [*a]\n")


@pytest.mark.parametrize("device", ["auto", "cpu", "gpu", "cuda", "cuda:1", "mps"])
def test_devices(load, device: str) -> None:
    assert load(BASE, f"device={device}").experiment.device == device


@pytest.mark.parametrize("device", ["gpus", "cuda:", "cuda:x", "mps:1", "CPU"])
def test_what_is_no_device(load, device: str) -> None:
    with pytest.raises(InputError, match="device: must be auto, cpu, gpu, cuda, cuda:N .* or mps, not "):
        load(BASE, f"device='{device}'")


TYPOS = {  # the whole file -> line, key as typed, key that is missing
    "nmae: a\nmodels: [bert-mlm]\n": (1, "'nmae'", "name"),
    "name: a\nmodles: [bert-mlm]\n": (2, "'modles'", "models"),
    BASE + "tasks:\n- {name: t, path: data, txt: text}\n": (4, "'txt' of entry 1 of tasks", "text"),
    BASE + "budget: {embedding_params: 1000}\n": (3, "'budget.embedding_params'", "embedding_parameters"),
    BASE + "finetune:\n  noise: {kindd: swap, rate: 0.1}\n": (4, "'finetune.noise.kindd'", "kind"),
    "name: a\nmodels:\n- {nmae: x, like: bert-mlm}\n": (3, "'nmae' of entry 1 of models", "name"),
}


@pytest.mark.parametrize("text", TYPOS)
def test_a_typo_of_a_required_key_names_the_typo(load, text: str) -> None:
    line, typed, missing = TYPOS[text]
    message = f"a.yaml:{line}: unknown key {typed}; did you mean '{missing}'? (list: hashbench schema); "
    with pytest.raises(InputError, match=f"^{re.escape(message)}key '{missing}' is missing$"):
        load(text)


def test_an_unknown_key_beside_a_missing_one_is_named_whatever_it_is(load) -> None:
    with pytest.raises(InputError, match=r"^a\.yaml:2: unknown key 'zzz' \(list: .*\); key 'models' is missing$"):
        load("name: a\nzzz: 1\n")


@given(st.sampled_from(["name", "models"]), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_two_letters_in_the_other_order_are_a_typo(load, key: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(key) - 2))
    typed = key[:at] + key[at + 1] + key[at] + key[at + 2 :]
    with pytest.raises(InputError, match=rf"unknown key '{typed}'; did you mean '{key}'\?.*key '{key}' is missing$"):
        load(BASE.replace(f"{key}:", f"{typed}:"))


@pytest.mark.parametrize(
    ("given_twice", "message"),
    [
        (["seeds=[0]", "seeds=[1]"], "override seeds=[1]: takes the place of seeds=[0], which is given too; leave one"),
        (
            ["finetune.epochs=2", "finetune={epochs: 1}"],
            "override finetune={epochs: 1}: takes the place of finetune.ep",
        ),
        (["models.m.coder=a", "models.m.coder=b"], "override models.m.coder=b: takes the place of models.m.coder=a"),
    ],
)
def test_no_override_takes_the_place_of_another(load, given_twice: list[str], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        load("name: x\nmodels:\n- {name: m, like: hashformer-md-proj}\n", *given_twice)


def test_an_override_within_another_stands(load) -> None:
    assert load(BASE, "finetune={epochs: 1}", "finetune.steps=7").experiment.finetune.steps == 7


@pytest.mark.parametrize("block", ["pretrain", "finetune"])
def test_numbers_beyond_sense_are_refused(load, block: str) -> None:
    with pytest.raises(InputError, match=rf"{block}\.batch_size: must be at most 1048576"):
        load(BASE, f"{block}.batch_size=1e9")
    with pytest.raises(InputError, match=r"workers: must be at most 10000, not 100000"):
        load(BASE + "workers: 100000\n")
    assert load(BASE, f"{block}.batch_size=1048576", "workers=10000").experiment.workers == 10_000


@pytest.mark.parametrize("key", ["models", "seeds"])
def test_an_empty_list_is_refused(load, key: str) -> None:
    with pytest.raises(InputError, match=f"{key}: must not be empty; give at least 1"):
        load(BASE, f"{key}=[]")


def test_a_model_may_not_have_the_name_of_a_trivial_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text("name: x\nmodels:\n  - bert-mlm\n  - {name: Majority, like: bert-mlm}\n")
    with pytest.raises(InputError) as refused:
        load_experiment("a.yaml")
    assert str(refused.value).startswith("a.yaml:4: model 'Majority': is the name of a trivial baseline (majority, ")
