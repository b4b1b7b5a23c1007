"""The command line: what goes to stdout, one line for each error, exit codes, and a light start."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest
import typer

import hashbench
from hashbench.cli import experiments as experiment_commands
from hashbench.cli.app import app, main

HEAVY = ["torch", "lightning", "transformers", "datasets", "sqlalchemy", "pandas", "matplotlib", "wandb"]
HEAVY += ["numpy", "pydantic"]
ROOT = Path(__file__).parents[1]
SMALL = """
name: small
data: builtin
encoder: tiny
models: [hashformer-md-proj]
tasks: [cola]
seeds: [0]
pretrain: {corpora: [builtin], steps: 2, batch_size: 2, sequence_length: 16}
"""


@dataclass
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function from arguments to the outcome, in a working folder of its own with small.yaml in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    Path("small.yaml").write_text(SMALL)

    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        return Outcome(int(left.value.code or 0), out, err)

    return command


def fails(outcome: Outcome, message: str) -> None:
    """The outcome of wrong input: exit code 2, nothing on stdout, one line on stderr."""
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1 and outcome.err.startswith("hashbench: ")
    assert message in outcome.err


def commands() -> dict[str, typer.core.TyperCommand]:
    """Every command by its full name."""
    group = typer.main.get_command(app)
    found = {}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found |= {f"{name} {each}": sub for each, sub in inner.items()} if inner else {name: command}
    return found


HELP_PROBE = """
import resource, sys
{before}
from hashbench.cli.app import main
try:
    main(["--help"])
except SystemExit:
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
loaded = [name for name in {heavy!r} if name in sys.modules]
print("PROBE", used.ru_utime + used.ru_stime, *loaded)
"""


def probe_help(before: str = "") -> tuple[float, list[str]]:
    """Processor seconds of `--help` in a fresh process, and the heavy modules it loaded."""
    code = HELP_PROBE.format(before=before, heavy=HEAVY)
    program = [sys.executable, "-c", code]
    shown = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT)
    _, seconds, *loaded = shown.stdout.splitlines()[-1].split()
    return float(seconds), loaded


def test_help_is_light() -> None:
    seconds, loaded = probe_help()
    assert loaded == [] and seconds < 1.0


def test_the_proof_of_lightness_can_fail() -> None:
    assert probe_help("import numpy, pydantic")[1] == ["numpy", "pydantic"]


def test_the_commands_are_those_of_the_design() -> None:
    assert sorted(commands()) == [
        "check", "compare", "costs", "dashboard", "data list", "data prepare", "db export", "db merge", "db upgrade",
        "db void", "encode", "export", "models", "neighbours", "params", "plot", "predict", "report", "schema",
        "status", "sweep",
    ]  # fmt: skip


@pytest.mark.parametrize("name", commands())
def test_every_command_has_help_with_an_example(name: str) -> None:
    assert f"hashbench {name}" in (commands()[name].help or "")


@pytest.mark.parametrize("name", commands())
def test_every_option_is_explained(name: str) -> None:
    for parameter in commands()[name].params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name}"


def test_version(run: Run) -> None:
    assert run("--version") == Outcome(0, f"hashbench {hashbench.__version__}\n", "")


def test_a_wrong_command_line_is_one_line(run: Run) -> None:
    fails(run("swee"), "No such command 'swee'. Did you mean 'sweep'?; see: hashbench --help")
    fails(run("sweep", "--foo"), "No such option: --foo")
    fails(run("report", "--format", "docx"), "see: hashbench report --help")
    fails(run("sweep"), "Missing argument 'FILE'; see: hashbench sweep --help")


WRONG_FILES = {
    "sweep none.yaml": "none.yaml: no such file",
    "sweep .": ".: is a folder",
    "sweep small.yaml pretrain.stps=3": "unknown key 'pretrain.stps'; did you mean 'steps'?",
    "sweep small.yaml pretrain.steps=-5": "pretrain.steps: must be greater than 0, not -5",
    "sweep small.yaml models=[bert-mln]": "unknown model 'bert-mln'; did you mean 'bert-mlm'",
    "sweep small.yaml tasks=[colaa]": "unknown task 'colaa'; did you mean 'cola'?",
    "sweep small.yaml finetune.select_metric=f2": "metric 'f2' does not fit task 'cola'; its metrics: ",
    "sweep small.yaml tasks=[wnli]": "task 'wnli': not in builtin",
    "sweep small.yaml pretrain.corpora=[wikipedia]": "corpus 'wikipedia': not in builtin",
    "sweep small.yaml --data nowhere": "--data: data: no folder ",
    "sweep small.yaml --db nowhere/r.db": "nowhere",
    "sweep small.yaml --db small.yaml": "small.yaml: ",
    "check small.yaml encoder=bas": "encoder: must be 'tiny', 'mini', 'small', 'medium' or 'base', not 'bas'",
    "check": "check: give an experiment file or --embedding FILE.py:Class",
    "check --embedding none.py:Mine": "none.py: no such file",
    "status": "results.db: no such database",
    "report": "results.db: no such database",
    "params bert-mln": "unknown model 'bert-mln'; did you mean 'bert-mlm'",
    "costs proformr": "unknown model 'proformr'; did you mean 'proformer'",
    "costs sgnn": "costs of 'sgnn' are not known",
    "costs proformer-k4 --words 30": "length 30 is no positive multiple of K = 4; choose one that is",
    "encode play": "encode: give --model NAME or --run ID",
    "encode --model hashformer-md-prj play": "unknown model 'hashformer-md-prj'; did you mean 'hashformer-md-proj'",
    "data list --data nowhere": "no folder",
    "status --watch --format json": "status: --watch prints text; leave out --watch or --format json",
    "check small.yaml finetune.learning_rate=[1e-3,0.001]": "finetune.learning_rate: rate 0.001 stands twice",
    "db export out.db --db small.yaml": "db export: add --example, the one form there is",
    "db export --example out.db --db small.yaml": "small.yaml",
    "db upgrade --db nowhere/r.db": "nowhere",
}


@pytest.mark.parametrize(("line", "message"), WRONG_FILES.items())
def test_wrong_input_is_one_line_and_exit_code_2(run: Run, line: str, message: str) -> None:
    fails(run(*line.split()), message)


def test_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    import hashbench.experiment.schema

    monkeypatch.setattr(hashbench.experiment.schema.Experiment, "model_json_schema", interrupt)
    assert run("schema") == Outcome(130, "", "interrupted\n")


def test_a_reader_that_leaves_is_no_error() -> None:
    program = [sys.executable, "-m", "hashbench", "schema"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)


def reference(column: str) -> dict[str, int]:
    """Exact counts of the reference data by model, of the models that this release has."""
    text = (files("hashbench.papers") / "published/hashformers.csv").read_text()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["column"] == column]
    return {row["model"]: int(row["value"]) for row in rows if re.match("hashformer|bert|canine", row["model"])}


def test_params_equal_the_published_counts_to_the_digit(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("params", "--encoder", "base", "--format", "csv").out)))
    assert list(rows[0]) == [
        "model",
        "paper",
        "frame",
        "total_params",
        "emb_params",
        "published_total",
        "published_emb",
    ]
    found = {row["model"]: row for row in reversed(rows)}  # the first of a model is in the frame of its paper
    totals, embeddings = reference("total_params_exact"), reference("emb_params_exact")
    assert len(totals) == len(embeddings) == 17
    assert {name: int(found[name]["total_params"]) for name in totals} == totals
    assert {name: int(found[name]["emb_params"]) for name in embeddings} == embeddings
    proj = found["hashformer-md-proj"]
    assert (proj["published_total"], proj["published_emb"]) == ("86100000", "99100")  # printed as 86.1M and 99.1K


def test_params_of_a_model_with_two_frames(run: Run) -> None:
    """The second is the one nearest to what the paper printed."""
    rows = json.loads(run("params", "canine-c", "--all-frames", "--format", "json").out)
    assert [(row["total_params"], row["emb_params"]) for row in rows] == [
        (132_084_482, 12_582_912),
        (reference("total_params_published_frame")["canine-c"], reference("emb_params_published_frame")["canine-c"]),
    ]
    assert [row["published_total"] for row in rows] == [121_000_000] * 2
    assert "2,048 positions that were trained" in rows[1]["frame"]


def test_params_of_a_group_without_the_ordinary_token_row(run: Run) -> None:
    """Equation 15 of appendix B: T rows, 128 x 768 = 98,304."""
    rows = json.loads(run("params", "hashformers-bpe", "--no-generic-row", "--format", "json").out)
    assert {row["model"]: row["emb_params"] for row in rows}["hashformer-md-proj-bpe"] == 98_304
    assert len(rows) == 4


def test_costs_beside_bert(run: Run) -> None:
    """Table 1 of ProFormer: 92.16 MB against 1.7 KB, 16 x fewer scores with K = 4, and what that leaves of all work."""
    rows = json.loads(run("costs", "proformers", "--words", "64", "--format", "json").out)
    bert, one, four = rows
    assert [row["model"] for row in rows] == ["bert-base (table 1)", "proformer", "proformer-k4"]
    assert [row["embedding_bytes_printed"] for row in rows] == [92_160_000, 1_680, 1_680]
    assert four["embedding_bytes_whole"] == 1_680 + 4 * 322_560
    assert one["attention_scores"] == 16 * four["attention_scores"]
    assert bert["times_less_than_bert"] == 1 and 5.8 < one["times_less_than_bert"] < 6 and four["madds_groups"] > 0


PLAY = "95ea122b0b72902c5a95d7ba740ff838"  # HMAC-MD5 of "play" under the key "en", the released code's
CODES = {
    "hashformer-md-proj": {"token": "play", "codes": [], "bits": PLAY},
    "hashformer-md-add": {"token": "play", "codes": [], "bits": PLAY},
    "hashformer-md-pool": {
        "token": "play",
        "codes": [599, 673, 138, 779, 458, 258, 790, 661, 862, 935, 259, 1016, 56],
        "bits": PLAY,
    },
    "hashformer-md-emb-50k": {"token": "play", "codes": [22237], "bits": None},
    "hashformer-md-emb-1k": {"token": "play", "codes": [740], "bits": None},
}


@pytest.mark.parametrize(("model", "expected"), CODES.items())
def test_encode_gives_the_codes_of_the_released_code(run: Run, model: str, expected: dict[str, object]) -> None:
    outcome = run("encode", "--model", model, "--format", "json", "play")
    assert (json.loads(outcome.out), outcome.code, outcome.err) == ([expected], 0, "")


def test_encode_splits_texts_as_the_model_does(run: Run) -> None:
    found = json.loads(run("encode", "--model", "hashformer-md-proj", "--format", "json", "Don't", "PLAY").out)
    assert [each["token"] for each in found] == ["don", "'", "t", "play"]


def test_encode_as_text_is_one_line_a_token(run: Run) -> None:
    assert run("encode", "--model", "hashformer-md-emb-1k", "play").out == "play\t740\n"


def test_encode_fits_a_dictionary_on_the_builtin_corpus_and_says_so(run: Run) -> None:
    outcome = run("encode", "--model", "hashformer-lsh-proj", "--format", "json", "play")
    assert "built-in corpus" in outcome.err
    assert len(json.loads(outcome.out)[0]["bits"]) == 32


def test_models(run: Run) -> None:
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(run("models", "--format", "csv").out))}
    assert sum("hashformers" in row["groups"].split(", ") for row in rows.values()) == 10
    proj, mlm = rows["hashformer-md-proj"], rows["bert-mlm"]
    assert (proj["tokens"], proj["code"], proj["needs"]) == ("words", "md5-bits", "corpus (shuffle + random)")
    assert (proj["total_params"], proj["emb_params"]) == ("86146562", "99072")
    assert (mlm["tokens"], mlm["code"], mlm["needs"]) == ("bpe", "vocabulary", "corpus (MLM)")
    assert json.loads(run("models", "--format", "json").out)[0]["paper"] == "hashformers"


def test_models_for_people_stand_under_their_papers(run: Run) -> None:
    lines = run("models").out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("Xue and Aletras"))
    assert lines[head + 1].startswith("groups: canine, hashformers, hashformers-bpe, baselines")
    row = next(line for line in lines[head:] if line.startswith("hashformer-md-emb-1k "))
    assert row.split()[1:6] == ["words", "md5-rows", "1033", "86.8M", "797.2K"]
    assert row.endswith("corpus (shuffle + random)")
    assert max(map(len, lines)) <= 110


def test_params_of_a_paper_are_its_models(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("params", "--paper", "hashformers", "--format", "csv").out)))
    assert {row["paper"] for row in rows} == {"hashformers"}
    assert [row["model"] for row in rows][:2] == ["bert-mlm", "bert-sr"]  # the order of the paper's tables
    assert len({row["model"] for row in rows}) == len(rows) >= 16
    fails(run("params", "--paper", "eelbrt"), "--paper: no paper 'eelbrt'; did you mean 'eelbert'")


def test_params_as_deployed_have_no_published_count_beside(run: Run) -> None:
    (row,) = csv.DictReader(io.StringIO(run("params", "bert-mlm", "--deployed", "--format", "csv").out))
    assert (row["total_params"], row["published_total"]) == ("124647170", "")
    assert row["frame"].startswith("2-class fine-tuned model as deployed")


def test_published_counts_of_superbloom_are_binary() -> None:
    from hashbench.cli.counting import _published

    assert _published("superbloom-baseline", "superbloom", "total_params") == 248 * 2**20
    assert _published("superbloom-sampled-softmax", "superbloom", "total_params") == round(2.6 * 2**30)
    assert _published("proformer", "proformer", "total_params") == 14_400_000
    assert _published("eelbert-base", "eelbert", "total_params") is None


def test_schema_is_json(run: Run) -> None:
    assert "pretrain" in json.loads(run("schema").out)["properties"]


def test_check_tells_what_a_sweep_would_do(run: Run) -> None:
    outcome = run("check", "small.yaml")
    assert outcome.code == 0
    assert "small.yaml: valid, encoder tiny, 4 runs: 1 pretrain, 2 floor, 1 finetune" in outcome.out
    assert re.search(r"hashformer-md-proj +words +md5-bits +shuffle_random +2 +0.001", outcome.out)


def test_check_finds_a_label_that_is_none(run: Run) -> None:
    Path("own").mkdir()
    for split in ("train", "validation"):
        Path(f"own/{split}.csv").write_text("text,label\ngood,1\nbad,\n")
    fails(run("check", "small.yaml", "tasks=[{name: own, path: own, text: text}]"), "label")


OWN = """
import torch
from hashbench.embeddings.base import Embedding

class Mine(Embedding):
    def __init__(self, dim, bits=128):
        super().__init__()
        self.map = torch.nn.Linear(bits, dim, bias=False)
        self.special = torch.nn.Parameter(torch.randn(5, dim))
        if {unused}:
            self.forgotten = torch.nn.Parameter(torch.zeros(1))
    def embed_types(self, codes):
        places = torch.arange(7, -1, -1)
        return self.map(((codes[..., None] >> places) & 1).flatten(1).float())
    def special_rows(self):
        return self.special
    def embedding_parameters(self):
        return self.map.weight.numel()
"""


def test_check_of_an_own_embedding(run: Run) -> None:
    Path("good.py").write_text(OWN.format(unused=False))
    Path("bad.py").write_text(OWN.format(unused=True))
    good, bad = run("check", "--embedding", "good.py:Mine"), run("check", "--embedding", "bad.py:Mine")
    assert good.code == 0 and all(line.startswith("ok ") for line in good.out.splitlines())
    assert bad.code == 1
    assert "FAIL  gradients reach every trained parameter: no gradient reaches forgotten" in bad.out


def test_a_dry_run_starts_nothing(run: Run) -> None:
    outcome = run("sweep", "small.yaml", "--dry-run")
    assert outcome.code == 0 and "hashformer-md-proj cola seed 0" in outcome.out
    assert not Path("results.db").exists()


def test_data_list(run: Run) -> None:
    rows = json.loads(run("data", "list", "--data", "builtin", "--format", "json").out)
    assert [row["name"] for row in rows if row["kind"] == "task"].count("cola") == 1
    assert "builtin" in [row["name"] for row in rows if row["kind"] == "corpus"]


def test_sweep_names_the_executor(run: Run) -> None:
    fails(run("sweep", "small.yaml", "--executor", "slurm"), "see: hashbench sweep --help")


def test_the_exit_code_of_a_sweep_is_the_programs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 where some runs failed; the table is printed all the same."""
    import hashbench.sweep.runner

    printed: list[str] = []
    monkeypatch.setattr(hashbench.sweep.runner, "sweep", lambda loaded, **options: 1)
    monkeypatch.setattr(experiment_commands, "_print_own_table", lambda db, name: printed.append(name))
    assert run("sweep", "small.yaml").code == 1
    assert printed == ["small"]


def test_data_prepare_and_encode_as_a_run_does(run: Run) -> None:
    """The run's own model, label and dictionary; a floor has no codes."""
    from hashbench.experiment.load import load_experiment
    from hashbench.store.engine import open_store
    from hashbench.store.planning import add_experiment
    from hashbench.sweep.plan import plan
    from hashbench.sweep.runner import row_of

    change = "models=[{name: wide, like: hashformer-lsh-proj, coder: {bits: 256}}]"
    prepared = run("data", "prepare", "small.yaml", change)
    assert prepared.code == 0 and re.fullmatch(r".*: [\d,]+ tokens of [\d,]+ types\n", prepared.out)
    loaded = load_experiment("small.yaml", [change])
    planned = {each.kind: each for each in plan(loaded).runs}
    store = open_store("results.db")
    config = loaded.experiment.model_dump(mode="json")
    add_experiment(store, "small", config, [row_of(each) for each in planned.values()], baseline="bert-mlm")
    store.close()
    encoded = run("encode", "--run", planned["finetune"].id[:12], "--format", "json", "play")
    assert len(json.loads(encoded.out)[0]["bits"]) == 64  # 256 bits
    fails(run("encode", "--run", planned["floor"].id[:12], "play"), "a run of kind floor has no codes")
    fails(run("encode", "--run", planned["finetune"].id[:12], "--model", "bert-mlm", "play"), "is a run of 'wide'")


def test_encode_of_a_run_looks_where_its_sweep_had_the_data(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--data first, then what the sweep wrote down, then the file's own sources from here."""
    from hashbench.cli import encoding
    from hashbench.experiment.load import load_experiment
    from hashbench.store.engine import open_store
    from hashbench.store.planning import add_experiment
    from hashbench.sweep.plan import plan
    from hashbench.sweep.runner import row_of

    loaded = load_experiment("small.yaml")
    rows = [row_of(each) for each in plan(loaded).runs]
    finetune = next(row.id for row in rows if row.kind == "finetune")
    used: list[tuple[str, ...]] = []
    monkeypatch.setattr(encoding, "fitted_reader", lambda loaded, model, sources: used.append(tuple(sources)))
    store = open_store("results.db")
    for extra in ({}, {"provenance": {"sources": ["/far/data", "hub"], "tasks": {}}}):
        add_experiment(store, "small", loaded.experiment.model_dump(mode="json") | extra, rows, baseline="bert-mlm")
        encoding.reader_of_run("results.db", finetune, None, None)
    encoding.reader_of_run("results.db", finetune, None, ["near"])
    store.close()
    assert used == [("builtin",), ("/far/data", "hub"), (str(Path.cwd() / "near"),)]
