"""Read the Dockerfiles that can be followed without building an image."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

_IGNORED = frozenset({"LABEL", "EXPOSE", "CMD", "MAINTAINER", "STOPSIGNAL"})
_INSTALLS = re.compile(r"\b(apt|apt-get|apk|yum|dnf|microdnf|pip3?|uv|npm|conda|gem|cargo)\b[^;&|]*\b(add|install)\b")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/dev", "/sys")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")
Does = Literal["run", "copy"]


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One instruction to follow: a command to run, or sources below the context to copy to `target`."""

    does: Does
    line: int
    text: str
    cwd: str
    env: dict[str, str]
    argv: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    target: str = ""


@dataclass(slots=True)
class Dockerfile:
    """What a Dockerfile says; `refused` lists what cannot be followed, each with its line."""

    base: str = ""
    workdir: str = "/"
    env: dict[str, str] = field(default_factory=dict)
    steps: list[BuildStep] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def read_dockerfile(text: str, context: Path) -> Dockerfile:
    """Return what can be followed of a Dockerfile: one FROM, WORKDIR, ENV, COPY and ADD of files, RUN.

    Never raises: `refused` names each line that needs an image.
    """
    found = Dockerfile()
    for line, word, rest in _instructions(text):
        try:
            problem = _follow(found, context, line, word, rest)
        except ValueError as error:
            problem = str(error)
        if problem:
            found.refused.append(f"line {line}: {word} {_short(rest)}: {problem}")
    if not found.base:
        found.refused.append("it has no FROM")
    return found


def _instructions(text: str) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []
    pending, began = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("#") or (not line and not pending):
            continue
        began = began or number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        word, _, rest = (pending + line).strip().partition(" ")
        if word:
            found.append((began, word.upper(), rest.strip()))
        pending, began = "", 0
    if pending.strip():
        word, _, rest = pending.strip().partition(" ")
        found.append((began, word.upper(), rest.strip()))
    return found


def _follow(found: Dockerfile, context: Path, line: int, word: str, rest: str) -> str:
    """Take in an instruction; return why it cannot be followed, or an empty string."""
    if word == "FROM":
        if found.base:
            return "a second stage needs an image"
        if " " in rest.strip():
            return "flags and stage names need an image"
        found.base = rest
    elif word == "WORKDIR":
        found.workdir = _joined(found.workdir, _filled(rest, found.env))
    elif word == "ENV":
        found.env |= _variables(rest, found.env)
    elif word in {"COPY", "ADD"}:
        return _copy(found, context, line, word, rest)
    elif word == "RUN":
        return _run(found, line, rest)
    elif word == "USER":
        return "" if rest in {"root", "0", "0:0", "root:root"} else "only the account root exists"
    elif word == "ARG":
        if "=" not in rest:
            return "build arguments need a default"
        found.env = _variables(rest, found.env) | found.env
    elif word not in _IGNORED:
        return "this needs an image"
    return ""


def _run(found: Dockerfile, line: int, rest: str) -> str:
    if rest.startswith("--"):
        return "flags of RUN need an image"
    if "<<" in rest and re.search(r"<<-?['\"]?\w", rest):
        return "here-documents need an image"
    if _INSTALLS.search(rest):
        return "it installs packages, and the system is read-only"
    argv = ("sh", "-c", rest)
    if rest.startswith("["):
        argv = tuple(json.loads(rest))
    found.steps.append(BuildStep("run", line, rest, found.workdir, dict(found.env), argv))
    return ""


def _copy(found: Dockerfile, context: Path, line: int, word: str, rest: str) -> str:
    words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    if any(one.startswith("--") for one in words):
        return "its flags need an image"
    *sources, last = (_filled(one, found.env) for one in words)
    if not sources:
        return "it names no source"
    target = _joined(found.workdir, last) + ("/" if last.endswith("/") or last in {".", "./"} else "")
    if any(target == one or target.startswith(f"{one}/") for one in _SYSTEM):
        return "the system is read-only"
    for source in sources:
        if "://" in source or (word == "ADD" and re.search(r"\.(tar|tgz|gz|bz2|xz|zst)$", source)):
            return "it downloads or unpacks"
        paths = list(context.glob(source.lstrip("/"))) if source.strip("./") else [context]
        if not paths:
            return f"{source} does not exist in {context}"
        if not all(path.resolve().is_relative_to(context.resolve()) for path in paths):
            return f"{source} is outside of the build context"
    copied = BuildStep("copy", line, rest, found.workdir, dict(found.env), sources=tuple(sources), target=target)
    found.steps.append(copied)
    return ""


def _variables(rest: str, env: dict[str, str]) -> dict[str, str]:
    if not re.match(r"^\w+=", rest):
        name, _, value = rest.partition(" ")
        return {name: _filled(value.strip(), env)}
    return {name: _filled(value, env) for name, _, value in (word.partition("=") for word in shlex.split(rest))}


def _filled(text: str, env: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda found: env.get(found[1] or found[3], found[2] or ""), text)


def _joined(folder: str, path: str) -> str:
    if path.startswith("/"):
        return path.rstrip("/") or "/"
    path = path.removeprefix("./").rstrip("/")
    return (f"{folder.rstrip('/')}/{path}" if path not in {"", "."} else folder) or "/"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"
