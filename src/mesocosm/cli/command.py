"""Building blocks of all commands: the common options, lazily loaded groups, and shared value types."""

import importlib
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from gettext import ngettext
from pathlib import Path
from typing import Any, TypeVar

import click

HELP = {"help_option_names": ["-h", "--help"]}
Tree = dict[str, tuple[str, str] | tuple[str, str, str]]
"""Commands by name: where they are, their short help, and the section of the help that lists them."""
MORE = "More"
"""The section that only `--help --all` shows."""
SETTINGS = "mesocosm help settings"

T = TypeVar("T")


@dataclass
class CommonOptions:
    """The options of every command, accepted at any position on the line.

    `viewer` is the address of the viewer that this command started; it may take a while until it answers.
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
    executor: str = "auto"
    _parts: dict[type, Any] = field(default_factory=dict)

    def part(self, kind: type[T]) -> T:
        """Return the options of one family, such as those of a gate; created with defaults on first access."""
        part: T = self._parts.setdefault(kind, kind())
        return part

    def results(self) -> Path:
        """Return the results directory: the one named, else `benchmark_results` here, else that of a folder above.

        Neither the home directory nor a folder above it is looked at.
        """
        given = self.results_dir or os.environ.get("MESOCOSM_RESULTS_DIR")
        return Path(given) if given else _nearest_results()

    def database(self) -> str:
        """Return the URL of the store; empty for the SQLite file in the results directory. Raises UsageError.

        A directory on the command line takes precedence over a database in the environment.
        """
        url = self.database_url or ("" if self.results_dir else os.environ.get("MESOCOSM_DATABASE_URL", ""))
        if url and "://" not in url:
            from mesocosm.core.failure import UsageError

            raise UsageError(
                f"{url!r} is not a URL of a database; write postgresql://user@host/name or "
                "sqlite:///path/of/file.sqlite, or name a directory with --results-dir"
            )
        return url

    def bare(self) -> bool:
        """Return whether boxes, colours and animated bars are off, even on a terminal."""
        return self.plain or colourless()


def _nearest_results() -> Path:
    name = "benchmark_results"
    here, home = Path.cwd(), Path.home()
    if not (here / name).is_dir():
        for folder in here.parents:
            if home.is_relative_to(folder):
                break
            if (folder / name).is_dir():
                return folder / name
    return Path(name)


def colourless() -> bool:
    """Return whether the environment requests output without escape codes."""
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
        click.Option(["--bench-url", "--base-url", "base_url"], metavar="URL", help="Server to talk to.", **shared),
        click.Option(["--results-dir"], metavar="DIR", help="Where results are kept [./benchmark_results].", **shared),
        click.Option(
            ["--database-url"], metavar="URL", help="PostgreSQL or SQLite store instead of the file.", **shared
        ),
        click.Option(["--blob-url"], metavar="URL", help="Object store for large content.", **shared),
    ]


executor_option = click.option(
    "--executor",
    metavar="NAME",
    callback=_keep,
    expose_value=False,
    help="Where episodes are played: local, processes:N, ray:ADDRESS, queue  [auto].",
)


def shows_all(context: click.Context) -> bool:
    """Return whether the help lists everything: `--help --all`."""
    return bool(context.meta.get(MORE))


def _heed_all(context: click.Context, words: list[str], known: Sequence[click.Parameter]) -> list[str]:
    """Note the `--all` of `--help --all`, and remove it unless it is an option of the command."""
    own = any("--all" in parameter.opts for parameter in known)
    if "--all" not in words or not {"-h", "--help"} & set(words):
        return words
    context.meta[MORE] = True
    return words if own else [word for word in words if word != "--all"]


class MesocosmCommand(click.Command):
    """A command that takes the common options, and `--name 1 2 3` for the options listed in `many`.

    Its help shows the options `own`, and with `--all` every option; without `own` always every option.
    """

    def __init__(self, *args: Any, many: Sequence[str] = (), own: Sequence[str] = (), **kwargs: Any) -> None:
        # Set here, not inherited: click caches the help option of the first call, which may have had no group above it.
        kwargs.setdefault("context_settings", HELP)
        super().__init__(*args, **kwargs)
        self.many = frozenset(many)
        self.own = frozenset(own)
        taken = {name for parameter in self.params for name in parameter.opts}
        self.params += [option for option in _common() if not taken & set(option.opts)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite `--seeds 1 2` as `--seeds 1 --seeds 2`, then parse."""
        return super().parse_args(ctx, _spread(_heed_all(ctx, args, self.params), self.many))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the command's own options, and name where the others are described."""
        if not self.own or shows_all(ctx):
            super().format_options(ctx, formatter)
            return
        help_option = self.get_help_option(ctx)
        shown = [one for one in self.get_params(ctx) if one is help_option or self.own & set(one.opts)]
        with formatter.section("Options"):
            formatter.write_dl([record for one in shown if (record := one.get_help_record(ctx)) is not None])
        formatter.write_paragraph()
        formatter.write_text(f"More: {SETTINGS}, {ctx.command_path} --help --all")


def confirmed(question: str) -> bool:
    """Ask on standard error, and return whether the answer is yes. Raises UsageError without a terminal."""
    try:
        return click.confirm(question, err=True)
    except click.Abort as abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        from mesocosm.core.failure import UsageError

        raise UsageError("there is no terminal to confirm at; repeat the command with --yes") from abort


models_option = click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="provider/name[@URL]; several are run at once and compared  [MESOCOSM_MODEL].",
)


def view_option(command: Any) -> Any:
    """Add the option to watch a command's run in the browser."""
    what = "Open the live page in the browser, or start no viewer [on a terminal: print the link]."
    return click.option("--view/--no-view", "view", default=None, help=what)(command)


def _spread(args: Sequence[str], many: frozenset[str]) -> list[str]:
    spread: list[str] = []
    current, needs_value = "", False
    for position, word in enumerate(args):
        option = word.startswith("-") and not word[1:2].isdigit()
        if option and needs_value:
            break
        if word == "--":
            return [*spread, *args[position:]]
        if word in many:
            current, needs_value = word, True
        elif option:
            name, equals, _ = word.partition("=")
            current = name if equals and name in many else ""
            spread.append(word)
        else:
            spread += [current, word] if current else [word]
            needs_value = False
    if needs_value:
        # At the end of the line, click reports that the option needs a value.
        spread.append(current)
    return spread


class FiniteFloat(click.FloatRange):
    """A number in a range; `nan` and `inf`, which Python also accepts as numbers, are rejected."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


class Count(click.IntRange):
    """A number, at least one; `all` is 0."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        if value == "all":
            return 0
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f'{value!r} is neither a number, at least 1, nor "all"', param, ctx)


class MesocosmGroup(click.Group):
    """A group that imports its commands when they are called. Unknown ones get a suggestion, or that of `instead`."""

    command_class = MesocosmCommand

    def __init__(
        self,
        *args: Any,
        tree: Tree | None = None,
        instead: dict[str, str] | None = None,
        helps: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("invoke_without_command", True)
        super().__init__(*args, **kwargs)
        self.helps = helps
        self.tree = tree or {}
        self.instead = instead or {}
        self.params += _common()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Heed `--help --all`, then parse; what follows a command's name is left to the command."""
        first = next((place for place, word in enumerate(args) if not word.startswith("-")), len(args))
        return super().parse_args(ctx, [*_heed_all(ctx, args[:first], self.params), *args[first:]])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, or print the help if none is named."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None and self.helps:
            click.echo(ctx.get_help())
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in reading order."""
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
        """List the commands without importing them; those of the section `MORE` only with --all."""
        sections: dict[str, list[tuple[str, str]]] = {"Commands": []}
        for name in self.list_commands(ctx):
            sections.setdefault(self.section_of(name) or "Commands", []).append((name, self._short(name)))
        more = sections.pop(MORE, [])
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)
        if not more:
            return
        if shows_all(ctx):
            with formatter.section(MORE):
                formatter.write_dl(more)
        else:
            formatter.write_paragraph()
            formatter.write_text(f"More: {ctx.command_path} --help --all")

    def section_of(self, name: str) -> str:
        """Return the section of the help that lists a command; empty for the first one."""
        if name not in self.tree:
            return MORE if self.commands[name].hidden else ""
        entry = self.tree[name]
        return entry[2] if len(entry) == 3 else ""

    def _short(self, name: str) -> str:
        if name in self.tree:
            return self.tree[name][1]
        command = self.commands[name]
        return command.short_help or (command.help or "").partition("\n")[0]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; suggest a similar name for an unknown one."""
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


def vars_of(record: Any) -> dict[str, Any]:
    """Return the fields of a struct as JSON values."""
    import msgspec

    fields = msgspec.to_builtins(record)
    assert isinstance(fields, dict)
    return fields


def plural(count: int, word: str) -> str:
    """Return `1 episode`, `2 episodes`."""
    return f"{count:,} {ngettext(word, word + 's', count)}"
