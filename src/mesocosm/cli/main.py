"""The program `mesocosm`: its tree of commands, loaded only where they are called."""

import gc
import importlib
import io
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from gettext import ngettext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm import __version__
from mesocosm.core.failure import MesocosmError, UsageError

if TYPE_CHECKING:
    from mesocosm.cli.gating import GateFlags

TREE: dict[str, tuple[str, str]] = {
    "demo": ("mesocosm.cli.demo:demo", "Run a shipped example with built-in agents and show the result."),
    "init": ("mesocosm.cli.init:init", "Scaffold an environment that runs green untouched."),
    "chaos": ("mesocosm.cli.chaos:chaos", "Run a command under faults; report what was lost or changed."),
    "verify": ("mesocosm.cli.verify:verify", "Read stored runs whole and name what is damaged."),
    "check": ("mesocosm.cli.check:check", "Play an environment and hold what it declares against what comes."),
    "validate": ("mesocosm.cli.validate:validate", "Check a manifest (or register body) against every rule."),
    "doctor": ("mesocosm.cli.doctor:doctor", "Check what is needed: server, adapter, Ollama, manifest."),
    "run": ("mesocosm.cli.run:run", "Run environments, and look at runs."),
    "bench": ("mesocosm.cli.bench.bench:bench", "Run benchmarks, look at what was run, compare models."),
    "eval": ("mesocosm.cli.eval.eval:evaluate", "Evaluate rollouts: a workflow and a grader on a dataset."),
    "dataset": ("mesocosm.cli.dataset:dataset", "Look at datasets: preview, validate, statistics."),
    "compare": ("mesocosm.cli.compare:compare", "Compare runs with statistics, for people and for gates."),
    "gate": ("mesocosm.cli.gate:gate", "Run a command, compare its runs with a baseline, pass or fail."),
    "view": ("mesocosm.cli.view:view", "Open the viewer on the results directory."),
    "serve": ("mesocosm.cli.serve:serve", "Serve the platform, with its workers."),
    "worker": ("mesocosm.cli.worker:worker", "Build and play what is queued on a platform."),
    "admin": ("mesocosm.cli.admin.admin:admin", "Run a platform: its people, its backup, its cleaning up."),
    "import": ("mesocosm.cli.import_export:import_", "Bring runs into the store: bundles and replay files."),
    "export": ("mesocosm.cli.import_export:export", "Write runs to a bundle that loses nothing, or to a static site."),
    "auth": ("mesocosm.cli.auth:auth", "Log in to a platform, and see who you are there."),
    "team": ("mesocosm.cli.team:team", "Work in a team on a platform."),
    "env": ("mesocosm.cli.env:env", "Submit environments to a platform, and watch them being built."),
    "domain": ("mesocosm.cli.domain:domain", "See what runs can be started on, and leaderboards."),
    "gallery": ("mesocosm.cli.gallery:gallery", "List public runs."),
    "models": ("mesocosm.cli.models:models", "List the models that the platform runs."),
    "register": ("mesocosm.cli.register:register", "Register a domain.py; env submit is for repositories."),
    "plugins": ("mesocosm.cli.plugins:plugins", "List what is installed and where each name comes from."),
}
COMPLETION = "_MESOCOSM_COMPLETE"
HELP = {"help_option_names": ["-h", "--help"]}


def _gate() -> "GateFlags":
    """Return what a gate asks: nothing as yet."""
    from mesocosm.cli.gating import GateFlags

    return GateFlags()


@dataclass
class CommonOptions:
    """The options of every command, at any place of the line.

    `viewer` is the address of the viewer that this command started, which may need a while until it answers.
    """

    json: bool = False
    plain: bool = False
    debug: bool = False
    quiet: bool = False
    view: bool | None = None
    opens: bool = False
    viewer: str = ""
    base_url: str | None = None
    results_dir: str | None = None
    database_url: str | None = None
    blob_url: str | None = None
    gate: "GateFlags" = field(default_factory=_gate)

    def results(self) -> Path:
        """The directory that keeps the results."""
        return Path(self.results_dir or os.environ.get("MESOCOSM_RESULTS_DIR") or "benchmark_results")

    def database(self) -> str:
        """The URL of the store; empty for the SQLite file in the results directory. Raises UsageError.

        A directory that is named on the line goes before a database that is named in the environment.
        """
        url = self.database_url or ("" if self.results_dir else os.environ.get("MESOCOSM_DATABASE_URL", ""))
        if url and "://" not in url:
            raise UsageError(
                f"{url!r} is not a URL of a database; write postgresql://user@host/name or "
                "sqlite:///path/of/file.sqlite, or name a directory with --results-dir"
            )
        return url

    def bare(self) -> bool:
        """Whether boxes, colours and moving bars are unwanted, even on a terminal."""
        return self.plain or colourless()


def colourless() -> bool:
    """Whether the environment asks for output without escape codes."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def options() -> CommonOptions:
    """Return the options of the command that is running."""
    return click.get_current_context().ensure_object(CommonOptions)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value:
        setattr(context.ensure_object(CommonOptions), str(parameter.name), value)
    if value and parameter.name == "plain":
        context.color = False


def _common() -> list[click.Option]:
    shared: dict[str, Any] = {"callback": _keep, "expose_value": False, "hidden": True}
    return [
        click.Option(["--json"], is_flag=True, help="One JSON document on standard output.", **shared),
        click.Option(["--plain"], is_flag=True, help="No colours, no boxes, no moving bars.", **shared),
        click.Option(["--debug"], is_flag=True, help="Show tracebacks.", **shared),
        click.Option(["--bench-url", "--base-url", "base_url"], metavar="URL", help="Platform to talk to.", **shared),
        click.Option(["--results-dir"], metavar="DIR", help="Where results are kept [./benchmark_results].", **shared),
        click.Option(
            ["--database-url"], metavar="URL", help="PostgreSQL or SQLite store instead of the file.", **shared
        ),
        click.Option(["--blob-url"], metavar="URL", help="Object store for large content.", **shared),
    ]


class MesocosmCommand(click.Command):
    """A command that takes the common options, and `--name 1 2 3` for the options listed in `many`."""

    def __init__(self, *args: Any, many: Sequence[str] = (), **kwargs: Any) -> None:
        # A separate option, because click keeps that of the first call, which may have had no group above it.
        kwargs.setdefault("context_settings", HELP)
        super().__init__(*args, **kwargs)
        self.many = frozenset(many)
        taken = {name for parameter in self.params for name in parameter.opts}
        self.params += [option for option in _common() if not taken & set(option.opts)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spell `--seeds 1 2` as `--seeds 1 --seeds 2`, then parse."""
        return super().parse_args(ctx, _spread(args, self.many))


def view_option(command: Any) -> Any:
    """Add the option by which a command that plays is watched in the browser."""
    what = "Open its live page in the browser; --no-view starts no viewer [on a terminal: only the link]."
    return click.option("--view/--no-view", "view", default=None, help=what)(command)


def _spread(args: Sequence[str], many: frozenset[str]) -> list[str]:
    spread: list[str] = []
    current, owed = "", False
    for position, word in enumerate(args):
        option = word.startswith("-") and not word[1:2].isdigit()
        if option and owed:
            break
        if word == "--":
            return [*spread, *args[position:]]
        if word in many:
            current, owed = word, True
        elif option:
            name, equals, _ = word.partition("=")
            current = name if equals and name in many else ""
            spread.append(word)
        else:
            spread += [current, word] if current else [word]
            owed = False
    if owed:
        # At the end of the line click reports that the option needs a value.
        spread.append(current)
    return spread


class FiniteFloat(click.FloatRange):
    """A number in a range; `nan` and `inf`, which Python takes for numbers too, are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number to count with.", param, ctx)
        return number

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


class MesocosmGroup(click.Group):
    """A group that imports its commands when they are called. Unknown ones get a suggestion, or that of `instead`."""

    command_class = MesocosmCommand

    def __init__(
        self,
        *args: Any,
        tree: dict[str, tuple[str, str]] | None = None,
        instead: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.tree = tree or {}
        self.instead = instead or {}
        self.params += _common()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they are meant to be read."""
        return [*self.tree, *(name for name in self.commands if name not in self.tree)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing its module."""
        if cmd_name not in self.tree:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.tree[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        rows = [(name, self._short(name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short(self, name: str) -> str:
        if name in self.tree:
            return self.tree[name][1]
        return self.commands[name].get_short_help_str(90)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest a near name for an unknown one."""
        import difflib

        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            begun = [command for command in known if command.startswith(f"{name}-")]
            close = begun or difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Try '{ctx.command_path} --help'."
            hint = f" {self.instead[name]}" if name in self.instead else hint
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


COMMON_HELP = """
\b
Every command takes, in any place:
  --json                   one JSON document on standard output
  --plain                  no colours, no boxes, no moving bars
  --debug                  tracebacks
  --results-dir DIR        where results are kept  [./benchmark_results]
  --database-url URL       store in PostgreSQL instead of the file
  --blob-url URL           large content in an object store: file:///…, s3://…
  --base-url, --bench-url  platform to talk to
These are also the variables MESOCOSM_RESULTS_DIR, MESOCOSM_DATABASE_URL,
MESOCOSM_BLOB_URL and MESOCOSM_BASE_URL.
"""


OF_RUNS = ("list", "show", "watch", "stop", "resume", "rescore", "delete", "episodes", "create")
"""Commands of `run` that users may look for outside of it."""


@click.group(
    cls=MesocosmGroup,
    tree=TREE,
    instead={name: f"Did you mean 'run {name}'?" for name in OF_RUNS},
    invoke_without_command=True,
    context_settings=HELP,
    epilog=COMMON_HELP,
)
@click.version_option(__version__, "-V", "--version", message="mesocosm %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Evaluate agents and language models: in environments, on datasets, on whole benchmarks.

    Every episode is recorded, every score carries its uncertainty, nothing that finished is run twice.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit with its code.

    0 ok, 1 failed, 2 usage, 3 incomplete, 4 infrastructure, 130 interrupted.
    """
    # What is imported stays. Looking for garbage among it takes a twelfth of the time until a command works.
    gc.set_threshold(10_000, 10, 10)
    sys.exit(call(arguments))


def call(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing but the command's own output reaches stdout."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a dash must not end a run.
            stream.reconfigure(errors="replace")
    code = 0
    try:
        with told_warnings():
            code = _answer(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        if not code:  # else the command has reported already what went wrong
            click.echo(f"error: the output cannot be written: {error.strerror or error}", err=True)
        return code or 4
    return code


def _answer(words: list[str]) -> int:
    """Run a command line; print a failure as a message, or with --debug as a traceback."""
    color = False if colourless() else None
    try:
        code = program.main(args=words, prog_name="mesocosm", standalone_mode=False, color=color)
    except click.ClickException as error:
        error.show()
        _document(words, "UsageError", error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        _document(words, "Interrupted", "interrupted before there was a result")
        return 130
    except SystemExit:
        # Apart from shell completion click ends like this only when the reader of the output is gone.
        if COMPLETION in os.environ:
            raise
        raise BrokenPipeError from None
    except Exception as error:
        if "--debug" in words:
            raise
        return _report(words, error)
    return code if isinstance(code, int) else 0


def _report(words: list[str], error: Exception) -> int:
    if isinstance(error, MesocosmError):
        click.echo(f"error: {error}", err=True)
        _document(words, type(error).__name__, str(error), getattr(error, "problems", ()))
        return error.exit_code
    if isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        click.echo(f"error: {message}", err=True)
    else:
        message = f"{type(error).__name__}: {error}"
        defect = "This is a defect in mesocosm; --debug shows where it happened."
        click.echo(f"error: {message}\n{defect}", err=True)
    _document(words, type(error).__name__, message)
    return 4


def _document(words: list[str], kind: str, detail: str, problems: Sequence[object] = ()) -> None:
    """Print an error as JSON, if the command prints JSON."""
    if "--json" not in words:
        return
    import json

    listed = {"problems": [vars_of(problem) for problem in problems]} if problems else {}
    click.echo(json.dumps({"error": kind, "detail": detail, **listed}, indent=2, ensure_ascii=False))


def _discard_output() -> None:
    """Send what is still buffered nowhere: Python would complain about it once more while closing."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def told_warnings() -> Iterator[None]:
    """Show warnings of our loggers on standard error, as `warning: …`."""
    import logging

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            from mesocosm.core.redact import Redactor

            click.echo(f"{record.levelname.lower()}: {Redactor().text(record.getMessage())}", err=True)

    handler, logger = Told(logging.WARNING), logging.getLogger("mesocosm")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def vars_of(record: Any) -> dict[str, Any]:
    """Return the fields of a struct as JSON values."""
    import msgspec

    fields = msgspec.to_builtins(record)
    assert isinstance(fields, dict)
    return fields


def plural(count: int, word: str) -> str:
    """Return `1 episode`, `2 episodes`."""
    return f"{count:,} {ngettext(word, word + 's', count)}"
