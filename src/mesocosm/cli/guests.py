"""`mesocosm guests`: the frameworks whose benchmarks run here, each in a Python of its own."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MesocosmCommand, MesocosmGroup, Tree, options, plural
from mesocosm.cli.render import answer, emit, table

if TYPE_CHECKING:
    from mesocosm.guests.kinds import GuestKind

_HERE = "mesocosm.cli.guests"
TREE: Tree = {
    "list": (f"{_HERE}:list_", "List the frameworks, and which of them are here."),
    "install": (f"{_HERE}:install", "Install frameworks, each in a virtual environment of its own."),
    "check": (f"{_HERE}:check", "Start frameworks and see that they answer."),
}

python_option = click.option("--python", default="", metavar="PATH", help="Interpreter to use  [one that fits].")


@click.group(cls=MesocosmGroup, tree=TREE)
def guests() -> None:
    """Frameworks whose benchmarks run here: Inspect, lm-evaluation-harness, verifiers, Gymnasium and others.

    Each runs in a Python of its own: one that `install` makes, the one that runs mesocosm if it has the package, or one
    on the path that has. `mesocosm bench search` finds what they offer.
    """


@click.command("list", cls=MesocosmCommand)
def list_() -> None:
    """List the frameworks, which Python has them, and how their benchmarks are named."""
    from mesocosm.core.failure import Incompatible
    from mesocosm.guests.installable import INSTALLABLE
    from mesocosm.guests.interpreter import facts_of, python_for

    rows, items = [], []
    for kind in INSTALLABLE.values():
        facts, found = None, None
        try:
            found = python_for(kind)
            facts = facts_of(found.path, kind.imports)
        except Incompatible:
            pass
        version = next(iter(facts.packages.values()), "") if facts is not None else ""
        rows.append(
            [
                kind.name,
                kind.title,
                version or "–",
                facts.python if facts is not None else "–",
                found.how if found is not None else "–",
                f"{kind.name}:{kind.source}",
            ]
        )
        items.append(
            {
                "name": kind.name,
                "title": kind.title,
                "version": version or None,
                "python": None if found is None else found.path,
                "how": None if found is None else found.how,
                "run": f"{kind.name}:{kind.source}",
            }
        )
    if options().json:
        emit({"items": items, "next": None})
        return
    table(["name", "framework", "version", "Python", "from", "a benchmark is named"], rows, options(), whole=(0, 2, 3))
    if any(row[2] == "–" for row in rows):
        click.echo("\nmesocosm guests install NAME installs one that is not here.")


@click.command(cls=MesocosmCommand)
@click.argument("names", nargs=-1, required=True)
@python_option
def install(names: tuple[str, ...], python: str) -> int:
    """Install the frameworks NAMES, each in a virtual environment of its own.

    Packages come from where pip is set to take them. An environment that is there already is replaced.
    """
    from mesocosm.guests import installation
    from mesocosm.guests.installable import installable

    made = {}
    for kind in [installable(name) for name in names]:
        made[kind.name] = str(installation.install(kind, python, _notice))
    answer("\n".join(f"{name}: {path}" for name, path in made.items()), {"installed": made})
    return 0


@click.command(cls=MesocosmCommand)
@click.argument("names", nargs=-1)
@python_option
def check(names: tuple[str, ...], python: str) -> int:
    """Start the frameworks NAMES [all that are here] and see that they answer. Exit 1 if one does not."""
    from mesocosm.core.failure import EpisodeError, Incompatible, MesocosmError
    from mesocosm.guests.catalogue import entries_of, said_hello
    from mesocosm.guests.installable import INSTALLABLE, installable

    items: list[dict[str, Any]] = []
    for kind in [installable(name) for name in names] or list(INSTALLABLE.values()):
        try:
            if not kind.module:
                items.append(_looked_at(kind, python))
                continue
            version = said_hello(kind, python)
            offered = len(entries_of(kind, _notice, python))
            items.append({"name": kind.name, "ok": True, "python": version, "benchmarks": offered})
        except Incompatible as error:
            if names:
                items.append({"name": kind.name, "ok": False, "error": str(error)})
        except (MesocosmError, EpisodeError) as error:
            stderr = getattr(error, "stderr", "")
            items.append({"name": kind.name, "ok": False, "error": f"{error}\n{stderr}".strip()})
    if options().json:
        emit({"items": items, "next": None})
    else:
        for item in items:
            click.echo(f"{item['name']}: {_said(item)}")
        if not items:
            click.echo("no framework is here; mesocosm guests install NAME installs one")
    return 0 if all(item["ok"] for item in items) else 1


def _looked_at(kind: "GuestKind", python: str) -> dict[str, Any]:
    """Return whether an interpreter has the packages of a framework that is not spoken with. Raises Incompatible."""
    from mesocosm.guests.interpreter import facts_of, python_for

    found = python_for(kind, python).path
    facts = facts_of(found, kind.imports)
    lacking = [name for name in kind.imports if facts is None or name not in facts.packages]
    if facts is None or lacking:
        return {"name": kind.name, "ok": False, "error": f"{found} lacks {', '.join(lacking)}"}
    return {"name": kind.name, "ok": True, "python": facts.python}


def _said(item: dict[str, Any]) -> str:
    if not item["ok"]:
        return str(item["error"])
    if "benchmarks" not in item:
        return f"is installed, Python {item['python']}"
    return f"answers, Python {item['python']}, {plural(item['benchmarks'], 'benchmark')}"


def _notice(message: str) -> None:
    click.echo(message, err=True)
