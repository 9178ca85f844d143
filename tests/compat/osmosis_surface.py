"""The public surface of the published osmosis-ai package: modules, names, and what each can be called with.

`osmosis_surface.txt` has it for the releases that began or ended something. It is made from the package itself, with
the extras server, rubric, openai-agents and strands, once per release, and merged:

    PYTHON_WITH_RELEASE tests/compat/osmosis_surface.py > RELEASE.json
    python tests/compat/osmosis_surface.py RELEASE.json … > tests/compat/osmosis_surface.txt

A line is `first release - last release|module|name|what it is`. What it is: `module`; a place where the same thing is
defined; or a kind with its parameters, where `=` marks those that may be left out.
"""

import enum
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".txt")

INTERNAL = (
    "_",
    "cli",
    "consts",
    "eval.local",
    "eval.request_policy",
    "eval.rubric.cli",
    "eval.rubric.dataset",
    "eval.rubric.report",
    "harbor_images",
    "packaging",
    "platform",
    "rollout.backend.harbor",
    "rollout.container",
    "rollout.controller.openai_responses",
    "rollout.server.lease",
    "rollout.server.observability",
    "rollout.server.result_registry",
    "rollout.trajectory.preview",
    "rollout.types.harbor",
    "rollout.utils",
    "source_images",
    "source_scan",
    "templates",
)
"""Modules of which only the existence is listed; what is below the command line's and the platform's is not."""


@dataclass(frozen=True)
class Line:
    """One module, name or member, in the releases from `since` to `until`."""

    since: str
    until: str
    module: str
    name: str
    what: str

    @classmethod
    def read(cls) -> "list[Line]":
        """Return the lines of the table."""
        return [cls(*line.split("|")) for line in TABLE.read_text().splitlines()]

    def __str__(self) -> str:
        return "|".join([self.since, self.until, self.module, self.name, self.what])


def call(function: Any) -> str:
    """Return what a function can be called with, as `async (a, b=, *, c=)`."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "(*args)"
    words: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            words.append(f"*{parameter.name}")
        elif parameter.kind is parameter.VAR_KEYWORD:
            words.append(f"**{parameter.name}")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
                words.append("*")
            words.append(parameter.name + ("" if parameter.default is parameter.empty else "="))
    return f"{'async ' if inspect.iscoroutinefunction(function) else ''}({', '.join(words)})"


def described(value: Any) -> str:
    """Return what a value is."""
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return f"enum {' '.join(str(member.value) for member in value)}"
    if isinstance(value, type) and hasattr(value, "model_fields"):
        fields = value.model_fields.items()
        return " ".join(["model", *(name + ("" if field.is_required() else "=") for name, field in fields)])
    if isinstance(value, type):
        return f"class {call(value)}"
    if inspect.isfunction(value):
        return call(value)
    return "property" if isinstance(value, property) else repr(value) if isinstance(value, str) else "value"


def members(value: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties that a class defines itself."""
    for name, member in vars(value).items():
        plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if name.startswith(("_", "model_")):
            continue
        if inspect.isfunction(plain) or isinstance(member, property):
            yield name, described(plain)


def listed() -> dict[str, str]:
    """Return the installed package's surface, by `module|name`."""
    root: Any = importlib.import_module("osmosis_ai")
    found: dict[str, str] = {"|": "module"}
    for info in pkgutil.walk_packages(root.__path__, "osmosis_ai.", onerror=lambda _: None):
        short = info.name.removeprefix("osmosis_ai.")
        internal = any(short == one or short.startswith((f"{one}.", "_")) for one in INTERNAL)
        if not internal or short.startswith(("rollout.", "eval.")) or "." not in short:
            found[f"{short}|"] = "module"
        if not internal:
            found.update(_names(info.name, short))
    found.update(_names("osmosis_ai", ""))
    return found


def _names(name: str, short: str) -> dict[str, str]:
    """Return the names of a module; those of an extra that is not installed are left out."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return {}
    own = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    constants = {key for key, value in own.items() if key.isupper() and isinstance(value, (str, int, float))}
    defined = {key for key, value in own.items() if getattr(value, "__module__", None) == name}
    found = {}
    for key in sorted(
        set(getattr(module, "__all__", constants | defined)) - {"PACKAGE_VERSION", "__version__", "logger"}
    ):
        try:
            value = getattr(module, key)
        except ImportError:
            continue
        home = str(getattr(value, "__module__", "")).removeprefix("osmosis_ai.")
        if home not in ("", short) and str(value.__module__).startswith("osmosis_ai."):
            found[f"{short}|{key}"] = f"= {home}"
            continue
        found[f"{short}|{key}"] = described(value)
        if isinstance(value, type) and not issubclass(value, enum.Enum):
            found.update({f"{short}|{key}.{member}": what for member, what in members(value)})
    return found


def merged(releases: dict[str, dict[str, str]]) -> list[Line]:
    """Return one line for each thing that stayed the same over releases, which are in their order."""
    order = list(releases)
    lines: list[Line] = []
    for key in sorted({key for found in releases.values() for key in found}):
        module, name = key.split("|")
        for release in order:
            what = releases[release].get(key)
            last = lines[-1] if lines and (lines[-1].module, lines[-1].name) == (module, name) else None
            if what is None:
                continue
            if last and last.what == what and order.index(last.until) + 1 == order.index(release):
                lines[-1] = Line(last.since, release, module, name, what)
            else:
                lines.append(Line(release, release, module, name, what))
    return lines


if __name__ == "__main__":
    if sys.argv[1:]:
        documents = {Path(file).stem: json.loads(Path(file).read_text()) for file in sys.argv[1:]}
        print("\n".join(str(line) for line in merged(documents)))
    else:
        json.dump(listed(), sys.stdout)
