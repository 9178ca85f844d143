"""The registry of all extension points. Built-ins are registered in the same way as plug-ins."""

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mesocosm.core.failure import MesocosmError, UnknownName, UsageError
from mesocosm.core.source import load_file

Opener = TypeVar("Opener", bound=Callable[..., Any])


def fold(name: str) -> str:
    """Return the form of `name` to compare: without case, `_` as `-`. References (with `:`) are only stripped."""
    if ":" in name:
        return name.strip()
    return name.strip().lower().replace("_", "-")


def suggestion(name: str, known: list[str]) -> str:
    """Return `; did you mean …?` for a near miss, otherwise the list of known names."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(sorted(known))}" if known else "; nothing is installed under this kind"


@dataclass(frozen=True, slots=True)
class Registered:
    """One registered name: its origin (`built-in`, a distribution, `decorator`) and how to load it."""

    name: str
    origin: str
    target: str
    load: Callable[[], Any]


class Registry:
    """Names of one kind, from entry points `mesocosm.<kind>` and from the decorator `register`.

    A name that is not registered and has the form `package.module:attr` or `path/file.py:attr` is imported.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._own: dict[str, Registered] = {}
        self._installed: dict[str, Registered] | None = None

    def register(self, name: str) -> Callable[[Any], Any]:
        """Return a decorator that registers its object under `name`."""

        def enter(target: Any) -> Any:
            where = f"{target.__module__}:{target.__qualname__}"
            self._own[fold(name)] = Registered(name, "decorator", where, lambda: target)
            return target

        return enter

    def get(self, name: str) -> Any:
        """Return the object called `name`. Raise UnknownName with a suggestion, UsageError if it cannot be loaded."""
        found = self._own.get(fold(name)) or self._entry_points().get(fold(name))
        if found is None:
            if ":" in name:
                return import_reference(name)
            known = [entry.name for entry in self.entries()]
            raise UnknownName(f"no {self.kind.rstrip('s')} is called {name!r}{suggestion(name, known)}")
        try:
            return found.load()
        except (Exception, SystemExit) as error:
            what = f"{self.kind.rstrip('s')} {found.name!r} ({found.target}, from {found.origin})"
            raise UsageError(f"{what} cannot be imported: {_reason(error)}") from error

    def entries(self) -> list[Registered]:
        """Return everything registered, sorted by name."""
        return sorted({**self._entry_points(), **self._own}.values(), key=lambda entry: entry.name)

    def _entry_points(self) -> dict[str, Registered]:
        if self._installed is None:
            from importlib.metadata import entry_points

            found: dict[str, Registered] = {}
            for point in entry_points(group=f"mesocosm.{self.kind}"):
                if point.value.startswith("mesocosm."):
                    # The name of a distribution is in its metadata, which would be parsed anew for every entry.
                    origin = "built-in"
                else:
                    origin = point.dist.name if point.dist else "unknown"
                found[fold(point.name)] = Registered(point.name, origin, point.value, point.load)
            # Assigned only when complete, because other threads may read it.
            self._installed = found
        return self._installed


def import_reference(reference: str) -> Any:
    """Return the object that `package.module:attr` or `path/file.py:attr` names. Raise UsageError if it is missing."""
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute:
        raise UsageError(f"{reference!r} names nothing; write package.module:attr or path/file.py:attr")
    try:
        module = load_file(Path(place)).module if place.endswith(".py") else importlib.import_module(place)
    except MesocosmError:
        raise
    except (Exception, SystemExit) as error:  # foreign code: importing it runs it
        raise UsageError(f"{reference!r} cannot be imported: {_reason(error)}") from error
    target: Any = module
    for part in attribute.split("."):
        if not hasattr(target, part):
            public = ", ".join(name for name in vars(module) if not name.startswith("_"))
            raise UsageError(f"{place!r} has no attribute {attribute!r}; it offers {public or 'nothing'}")
        target = getattr(target, part)
    return target


def _reason(error: BaseException) -> str:
    return str(error) if isinstance(error, ImportError | FileNotFoundError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True)
class OptionRoles:
    """What a source of benchmarks declares about its options, for code that handles runs of any kind.

    `secrets` is the option that lists names of variables with secrets, `variables` the option with a table of
    variables, which may have secret values; empty for none. `local` options (`table.key` inside of another one) only
    say where files are, how this machine runs episodes or for whom, so they do not distinguish runs. `kept` options
    are paths of files that a run leaves outside the store. `agent` is the option that takes an agent of the source's
    own, one that is not installed here. `located` returns a source and its options with the paths of files from the
    root, so that they are found from every folder; None if the kind names no files.
    """

    secrets: str = ""
    variables: str = ""
    local: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    agent: str = ""
    located: "Located | None" = None


Located = Callable[[str, Mapping[str, Any]], tuple[str, dict[str, Any]]]


def declares_options(roles: OptionRoles) -> Callable[[Opener], Opener]:
    """Return a decorator that declares the option roles of the benchmark kind that a function opens."""

    def declare(opener: Opener) -> Opener:
        opener.option_roles = roles  # type: ignore[attr-defined]
        return opener

    return declare


def option_roles(kind: str) -> OptionRoles:
    """Return the option roles that a benchmark kind declares; empty ones for a kind that is not installed."""
    try:
        declared = getattr(SOURCES.get(kind), "option_roles", None)
    except MesocosmError:
        return OptionRoles()
    return declared if isinstance(declared, OptionRoles) else OptionRoles()


SOURCES = Registry("sources")
MODELS = Registry("models")
AGENTS = Registry("agents")
TECHNIQUES = Registry("techniques")
PROXIES = Registry("proxies")
EXECUTORS = Registry("executors")
GRADERS = Registry("graders")
