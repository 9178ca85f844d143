"""The program `mesocosm`: its tree of commands, loaded only where they are called."""

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from gettext import ngettext
from pathlib import Path
from typing import Any

import click

from mesocosm import __version__
from mesocosm.core.failure import MesocosmError

TREE: dict[str, tuple[str, str]] = {
    "demo": ("mesocosm.cli.demo:demo", "Run a shipped example with built-in agents and show the result."),
    "init": ("mesocosm.cli.init:init", "Scaffold an environment that runs green untouched."),
    "validate": ("mesocosm.cli.validate:validate", "Check a manifest (or register body) against every rule."),
    "doctor": ("mesocosm.cli.doctor:doctor", "Check what is needed: server, adapter, Ollama, manifest."),
    "run": ("mesocosm.cli.run:run", "Run environments, and look at runs."),
    "import": ("mesocosm.cli.transfer:import_", "Bring runs into the store: bundles and replay files."),
    "export": ("mesocosm.cli.transfer:export", "Write runs to a bundle that loses nothing."),
    "plugins": ("mesocosm.cli.plugins:plugins", "List what is installed and where each name comes from."),
}


@dataclass
class Options:
    """What every command takes, wherever on the line it stands."""

    json: bool = False
    plain: bool = False
    debug: bool = False
    quiet: bool = False
    base_url: str | None = None
    results_dir: str | None = None
    database_url: str | None = None

    def results(self) -> Path:
        """The directory that keeps the results."""
        return Path(self.results_dir or os.environ.get("MESOCOSM_RESULTS_DIR") or "benchmark_results")

    def database(self) -> str:
        """The URL of the store; empty for the SQLite file in the results directory."""
        return self.database_url or os.environ.get("MESOCOSM_DATABASE_URL", "")


def options() -> Options:
    """Return the options of the command that is running."""
    return click.get_current_context().ensure_object(Options)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value:
        setattr(context.ensure_object(Options), str(parameter.name), value)


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
    ]


class Command(click.Command):
    """A command that takes the common options, and `--name 1 2 3` for the options listed in `many`."""

    def __init__(self, *args: Any, many: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.many = frozenset(many)
        taken = {name for parameter in self.params for name in parameter.opts}
        self.params += [option for option in _common() if not taken & set(option.opts)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Spell `--seeds 1 2` as `--seeds 1 --seeds 2`, then parse."""
        return super().parse_args(ctx, list(_spread(args, self.many)))


def _spread(args: Sequence[str], many: frozenset[str]) -> list[str]:
    spread: list[str] = []
    current = ""
    for position, word in enumerate(args):
        if word in many:
            current = word
            continue
        if word == "--":
            return [*spread, *args[position:]]
        if word.startswith("-") and not word[1:2].isdigit():
            current = ""
        spread += [current, word] if current else [word]
    return spread


class Group(click.Group):
    """A group whose commands are imported when they are called; unknown ones get a suggestion."""

    command_class = Command

    def __init__(self, *args: Any, tree: dict[str, tuple[str, str]] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tree = tree or {}
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
        """Find a command; suggest a near name when there is none."""
        import difflib

        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            close = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Try '{ctx.command_path} --help'."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


COMMON_HELP = """
\b
Every command takes, in any place:
  --json                     one JSON document on standard output
  --plain                    no colours, no boxes, no moving bars
  --debug                    tracebacks
  --results-dir DIR          where results are kept   [./benchmark_results, MESOCOSM_RESULTS_DIR]
  --database-url URL         store in PostgreSQL instead of the file   [MESOCOSM_DATABASE_URL]
  --base-url, --bench-url    platform to talk to
"""


@click.group(cls=Group, tree=TREE, context_settings={"help_option_names": ["-h", "--help"]}, epilog=COMMON_HELP)
@click.version_option(__version__, "-V", "--version", message="mesocosm %(version)s")
def program() -> None:
    """Evaluate agents and language models: in environments, on datasets, on whole benchmarks.

    Every episode is recorded, every score carries its uncertainty, nothing that finished is run twice.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and exit with its code.

    0 ok, 1 failed, 2 usage, 3 incomplete, 4 infrastructure, 130 interrupted.
    """
    sys.exit(call(arguments))


def call(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing but the command's own output reaches stdout."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    try:
        code = program.main(args=words, prog_name="mesocosm", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain about it once more while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MesocosmError as error:
        if debug:
            raise
        _report(error, as_json="--json" in words)
        return error.exit_code
    except Exception as error:
        if debug:
            raise
        click.echo(
            f"error: {type(error).__name__}: {error}\nThis is a defect in mesocosm; --debug shows where it happened.",
            err=True,
        )
        return 4
    return code if isinstance(code, int) else 0


def _report(error: MesocosmError, *, as_json: bool) -> None:
    click.echo(f"error: {error}", err=True)
    if as_json:
        import json

        problems = [vars_of(problem) for problem in getattr(error, "problems", ())]
        document: dict[str, Any] = {"error": type(error).__name__, "detail": str(error)}
        click.echo(json.dumps({**document, **({"problems": problems} if problems else {})}, indent=2))


def vars_of(record: Any) -> dict[str, Any]:
    """Return the fields of a struct as JSON values."""
    import msgspec

    fields = msgspec.to_builtins(record)
    assert isinstance(fields, dict)
    return fields


def plural(count: int, word: str) -> str:
    """Return `1 episode`, `2 episodes`."""
    return f"{count:,} {ngettext(word, word + 's', count)}"


CommandFunction = Callable[..., Any]
