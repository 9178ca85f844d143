"""`mesocosm run WHAT`: recognise what is named, and run it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from mesocosm.cli.command import MesocosmCommand
from mesocosm.cli.evaluating import arguments_of, evaluation_options, models_of, play
from mesocosm.cli.local import parse_seeds
from mesocosm.cli.sources import calls_of, named_sources
from mesocosm.core.failure import UsageError

_REMOTE = ("--remote", "--on")


@evaluation_options
@click.command(
    "WHAT",
    cls=MesocosmCommand,
    many=("--seeds",),
    own=(
        *("--model", "--limit", "--seeds", "--trials", "--param", "--agent", "--judge", "--parallel", "--budget"),
        *("--fail-if", "--name", "--fresh", "--retry-failed", "--set"),
    ),
)
@click.argument("what")
@click.option(
    *("-P", "-T", "--param", "--env-option", "params"),
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter; TOML, else text.",
)
@click.option("--python", default="", metavar="PATH", help="Interpreter of a benchmark of another framework.")
@click.option("--agent", metavar="NAME", help="Agent, also as FILE.py:NAME.")
@click.option("--seeds", multiple=True, callback=parse_seeds, metavar="N [N ...]", help="Seeds, also as ranges (0-99).")
def run_what(what: str, **given: Any) -> int:
    """Run WHAT: a folder with an environment, FILE.py:Class, FILE.py@benchmark, the URL of an environment server, or
    what another framework has: inspect:TASK, lm-eval:TASK, verifiers:TASKSET, gym:ID, textarena:GAME, openenv:FOLDER …

    The same command again continues; nothing finished runs twice. A folder that is called like a command is ./NAME.
    """
    arguments, written = arguments_of(given)
    if given["seeds"]:
        arguments["only"] = list(given["seeds"])
    return play(calls_of(what, given, models_of(given), (arguments, written)), given, "episode")


def command_of(words: Sequence[str]) -> tuple[click.Command, list[str]] | None:
    """Return the command that runs what the first of `words` names, and the words for it; None if it names nothing.

    Raises UsageError for rows, which need a prompt.
    """
    what, rest = words[0], list(words[1:])
    named = {word.partition("=")[0] for word in rest}
    path = Path(what)
    if named_sources([what]):
        return run_what, [what, *rest]
    if named & set(_REMOTE) and "@" in what and not what.partition("@")[0].endswith(".py"):
        return _remote(what, rest)
    if path.suffix == ".toml":
        return _configuration(what, rest)
    if path.is_file() and _is_data(path):
        raise UsageError(_how_to_ask(what))
    if path.is_dir():
        return _folder(path, rest)
    place = what.partition("@")[0].rpartition(":")[0] if ".py:" in what else what.partition("@")[0]
    if not Path(place).exists() and (what.startswith((".", "/")) or place.endswith(".py") or _is_data(path)):
        raise UsageError(_no_file(Path(place)))
    if any(mark in what for mark in (":", "@")) or "/" in what:
        return run_what, [what, *rest]
    return _benchmark(what, rest)


def _no_file(path: Path) -> str:
    from mesocosm.core.reading import nearest

    near = nearest(path.name, [one.name for one in path.parent.glob("*")] if path.parent.is_dir() else [])
    return f"there is no file or folder {path}" + (f"; did you mean {path.parent / near}?" if near else "")


def _remote(what: str, words: list[str]) -> tuple[click.Command, list[str]]:
    from mesocosm.cli.remote.run_create import create

    domain, _, version = what.partition("@")
    return create, ["--domain", domain, "--vow-version", version, *_server(words)]


def _server(words: list[str]) -> list[str]:
    """Return the words with `--base-url` for `--on`, and without `--remote`."""
    split = [word.partition("=") for word in words if word != "--remote"]
    return [{"--on": "--base-url"}.get(name, name) + equals + value for name, equals, value in split]


def _configuration(what: str, words: list[str]) -> tuple[click.Command, list[str]]:
    from mesocosm.cli.eval.run import command_of_file

    return command_of_file([what, *words])


def _is_data(path: Path) -> bool:
    from mesocosm.datasets.reading import format_of
    from mesocosm.environments.manifest import MANIFEST_NAME

    return bool(format_of(path)) and path.name != MANIFEST_NAME


def _how_to_ask(what: str) -> str:
    from mesocosm.cli.eval.ask import how_to_ask
    from mesocosm.datasets import open_table

    return how_to_ask(what, open_table(what).columns)


def _folder(path: Path, words: list[str]) -> tuple[click.Command, list[str]] | None:
    from mesocosm.benchmarks.descriptor import FILE, read_descriptor
    from mesocosm.core.failure import MesocosmError
    from mesocosm.environments.manifest import find_manifest

    if (path / FILE).is_file():
        from mesocosm.cli.bench.run import run

        return run, [read_descriptor(path).id, "--benchmarks-dir", str(path), *words]
    try:
        find_manifest(path)
    except MesocosmError:
        raise UsageError(_how_to_ask(str(path))) from None
    return run_what, [str(path), *words]


def _benchmark(name: str, words: list[str]) -> tuple[click.Command, list[str]] | None:
    """Return `bench run` for the name of a benchmark, None for another word."""
    from mesocosm.benchmarks.catalogue import read_catalogue
    from mesocosm.core.failure import UnknownName

    try:
        read_catalogue().find(name)
    except UnknownName:
        return None
    from mesocosm.cli.bench.run import run

    return run, [name, *words]
