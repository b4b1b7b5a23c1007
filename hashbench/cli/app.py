"""The program: its commands and the handling of errors.

Exit codes: 0 done, 1 some runs failed, 2 wrong input, 128 and more: interrupted by a signal."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hashbench.cli import begin, cache, data, db, streams
from hashbench.cli.board import board
from hashbench.cli.check import check, schema
from hashbench.cli.figures import dashboard, plot
from hashbench.cli.gone import refuse_gone
from hashbench.cli.models import costs, encode, models, neighbours, params
from hashbench.cli.outputs import guarded
from hashbench.cli.report import compare, report, report_claims, report_robustness
from hashbench.cli.status import list_experiments, log, status
from hashbench.cli.sweep import sweep, worker
from hashbench.cli.trained import evaluate, export, predict
from hashbench.common.cache import FONTS, FONTS_VARIABLE
from hashbench.common.errors import InputError
from hashbench.common.extras import explained
from hashbench.common.process import wanted_threads
from hashbench.common.showing import keep_secrets, printable, without_passwords
from hashbench.data.sources.fingerprints import cache_folder, why_not_writable

# Environment variables that name folders, of this program and of the libraries that it uses
FOLDER_VARIABLES = (
    "HASHBENCH_CACHE", "HASHBENCH_ARTIFACTS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_ASSETS_CACHE", "HF_XET_CACHE", "HUGGINGFACE_HUB_CACHE",
    "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "TORCH_HOME", "TORCHINDUCTOR_CACHE_DIR", "WANDB_DIR", "WANDB_DATA_DIR",
    "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "RAY_TMPDIR", "TMPDIR",
)  # fmt: skip
WRONG_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143
# typer carries its own click: this is that click's error for a wrong command line
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class Commands(TyperGroup):
    """The program's commands, including commands of two words. Handles interrupts in place of typer."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command named by the first two words ('report claims') if there is one, else by the first."""
        refuse_gone(args)
        both = " ".join(args[:2])
        if both in self.commands:
            return both, self.commands[both], args[2:]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the requested command; an interrupt, and a reader who left, end it without a traceback."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # that its reader has left shows itself here at the latest
            return result
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except streams.ReaderGone:
            raise typer.Exit() from None


app = typer.Typer(
    name="hashbench",
    cls=Commands,
    help="Vocabulary-free and hashed input embeddings, trained, measured and tabulated under one recipe.\n\n"
    "    hashbench quickstart\n\n    hashbench report glue_tiny --db example",
    pretty_exceptions_enable=False,  # its tracebacks print local variables, thus tokens
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
GROUPS: dict[str, dict[str, Callable[..., None] | typer.Typer]] = {  # as --help prints them
    "Begin": {
        "quickstart": begin.quickstart, "init": begin.init, "check": check, "sweep": sweep, "report": report,
    },
    "Experiments": {
        "experiments": begin.experiments, "worker": worker, "status": status, "log": log, "list": list_experiments,
        "schema": schema,
    },
    "Results": {
        "report claims": report_claims, "report robustness": report_robustness, "compare": compare, "plot": plot,
        "dashboard": dashboard, "board": board,
    },
    "Models and text": {
        "models": models, "params": params, "costs": costs, "encode": encode, "neighbours": neighbours,
    },
    "Trained models": {"export": export, "predict": predict, "evaluate": evaluate},
    "Data and databases": {"data": data.app, "db": db.app, "cache clean": cache.clean},
}  # fmt: skip
for group, members in GROUPS.items():
    for name, member in members.items():
        if isinstance(member, typer.Typer):
            for command in member.registered_commands:
                command.callback = guarded(command.callback) if command.callback else None
            app.add_typer(member, name=name, rich_help_panel=group)
        else:
            app.command(name, rich_help_panel=group)(guarded(member))


def _print_version(wanted: bool) -> None:
    if wanted:
        import hashbench

        print(f"hashbench {hashbench.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the program itself."""
    wanted_threads()  # a wrong setting is refused before any work, not in a worker after an hour


def main(arguments: list[str] | None = None) -> None:
    """Runs the command of the arguments (None: of the command line) and exits with its code."""
    # pydantic would look for plugins in the metadata of all installed packages
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Imports make a million objects that stay, which Python would look through for garbage again and again: a tenth
    # of the time of a short command. Workers of a sweep are other processes, with Python's default.
    gc.set_threshold(50_000)
    streams.prepare()
    sys.excepthook = _print_error
    for argument in sys.argv[1:] if arguments is None else arguments:
        keep_secrets(argument)
    if engine := sys.modules.get("hashbench.store.engine"):  # of an earlier call in this process
        engine.OPEN.clear()
    _unset_empty_folders()
    _keep_fonts()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        code = _run(arguments)
    except InputError as error:
        code = _complain(str(error))
    except UsageError as error:
        code = _complain(_usage(error))
    except typer.Abort:
        code = INTERRUPTED
    except Exception as error:
        code = _complain(_of_database(error))
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code if isinstance(code, int) else 0)


def _unset_empty_folders() -> None:
    """Removes empty FOLDER_VARIABLES from the environment: an empty one counts as unset (XDG Base Directory, 3).

    Libraries that ignore this rule, such as numba with its machine code, would write into the working folder.
    """
    for name in FOLDER_VARIABLES:
        if os.environ.get(name) == "":
            del os.environ[name]


def _keep_fonts() -> None:
    """Gives matplotlib a folder in the cache for its list of fonts, where the home folder cannot be written.

    Every training imports it, through torchmetrics, and it would print a warning.
    """
    with contextlib.suppress(RuntimeError):  # this user has no home folder
        if not why_not_writable(Path.home()):
            return
    if not why_not_writable(cache_folder()):
        os.environ.setdefault(FONTS_VARIABLE, str(cache_folder() / FONTS))


def _run(arguments: list[str] | None) -> object:
    """The exit code of a command, or None; what it printed has left the buffer."""
    try:
        with explained():
            code = typer.main.get_command(app).main(args=arguments, prog_name="hashbench", standalone_mode=False)
        sys.stdout.flush()  # of --help
        return code
    except streams.StdoutGone as error:
        streams.leave()
        raise InputError(f"stdout: {error.strerror}; print to another place") from error


def _of_database(error: Exception) -> str:
    """A line on a database that does not answer, is full, or holds what cannot be. Raises `error` if it is another one.

    A database is not validated up front: when a read fails, the bad row behind the error is looked for.
    """
    if "hashbench.store.engine" not in sys.modules:
        raise error
    from hashbench.results.exchange.checking import fault_behind
    from hashbench.running.experiment.identity import run_id
    from hashbench.store.engine import OPEN
    from hashbench.store.retry import is_outage, reason_of

    if is_outage(error):
        return f"the database does not answer: {reason_of(error)}"
    if fault := fault_behind(error, list(OPEN), identify=run_id):
        return fault
    raise error


def _complain(message: str) -> int:
    """Prints the message as one line on stderr; returns the exit code of wrong input."""
    with contextlib.suppress(OSError):  # stderr may be full too
        print("hashbench: " + printable(" ".join(without_passwords(message).split())), file=sys.stderr)
    return WRONG_INPUT


def _usage(error: Exception) -> str:
    """The message about a wrong command line in one line, with the command whose help explains it."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "hashbench"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{message.rstrip('.')}; see: {path} --help"


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints the traceback of an error of the program itself, without passwords."""
    print(without_passwords("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)
