"""What stepped environments of all frameworks need: their random numbers, their versions, their texts."""

import difflib
import inspect
import random
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from . import Failed, digest, versions

LONGEST_TEXT = 6_000
_DROPPED = re.compile(
    r"^#{1,4}\s*(?:version history|versions?|references?|citation|arguments|vectori[sz]ed|usage|rendering"
    r"|manual control)\b.*?(?=^#{1,4}\s|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_FIGURE = re.compile(r"```\{.*?```\n?|^# noqa.*?\n", re.DOTALL)


class Dice:
    """The global random numbers of Python and numpy, as one episode sees them.

    Many games draw from them. Episodes take turns in one process, so each has a state of its own, which is in place
    while it acts: equal seeds give equal games, whatever runs beside them.
    """

    holder: ClassVar["Dice | None"] = None

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self.state: tuple[Any, Any] | None = None

    def take(self) -> None:
        """Put the state of this episode in place; from now on it is the one that changes."""
        other = Dice.holder
        if other is self:
            return
        if other is not None:
            other.state = _random_state()
        Dice.holder = self
        numpy = sys.modules.get("numpy")
        if self.state is None:
            random.seed(self.seed)
            if numpy is not None:
                numpy.random.seed(None if self.seed is None else self.seed % 2**32)
            return
        random.setstate(self.state[0])
        if numpy is not None and self.state[1] is not None:
            numpy.random.set_state(self.state[1])

    def drop(self) -> None:
        """Forget the state: the episode is over."""
        if Dice.holder is self:
            Dice.holder = None


def _random_state() -> tuple[Any, Any]:
    numpy = sys.modules.get("numpy")
    return random.getstate(), None if numpy is None else numpy.random.get_state()


def seat_of(seats: int, seed: int | None, trial: int, fixed: Any) -> int:
    """Return the seat under test: it moves on with the seed and with the trial. Raises Failed for one that is not."""
    if fixed is None:
        return ((seed or 0) + trial) % seats
    if not isinstance(fixed, int) or isinstance(fixed, bool) or not 0 <= fixed < seats:
        raise Failed(f"seat={fixed!r} is no seat of this game: there are 0 to {seats - 1}")
    return fixed


def rival_of(given: Any) -> str:
    """Return who has the other seats: `random`, `self` or `judge`. Raises Failed."""
    known = ("random", "self", "judge")
    if given not in known:
        raise Failed(
            f"opponent={given!r} is not known; write opponent=random, opponent=self (the model plays all seats), or "
            "opponent=judge with the opponent as --judge MODEL"
        )
    return str(given)


def opening(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a first observation from what a step would tell.

    A game may be over before the seat under test has a turn, as when the opponent makes an invalid first move. Then
    this says so, and whatever the agent replies ends the episode with its scores.
    """
    return {key: value for key, value in told.items() if key not in {"reward", "terminated", "truncated"}}


def near(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean …?` for a wrong name, or nothing."""
    found = difflib.get_close_matches(name, list(known), 1, 0.5)
    return f"; did you mean {found[0]}?" if found else ""


def wanting(what: str, error: BaseException) -> Failed:
    """Return in one sentence what something lacks that cannot start."""
    name = getattr(error, "name", None)
    if isinstance(error, ModuleNotFoundError) and name:
        return Failed(f"{what} needs the package of the module {name}, which this Python does not have: {_said(error)}")
    if isinstance(error, SyntaxError):
        place = Path(error.filename or "?").name
        version = ".".join(map(str, sys.version_info[:2]))
        return Failed(f"{what} cannot be read by Python {version} ({place}, line {error.lineno}: {error.msg})")
    resource = re.search(r"nltk\.download\('(\w+)'\)", str(error))
    if isinstance(error, LookupError) and resource is not None:
        return Failed(f"{what} needs the word list {resource[1]!r} of nltk: python -m nltk.downloader {resource[1]}")
    return Failed(f"{what} cannot start: {type(error).__name__}: {_said(error)}")


def _said(error: BaseException) -> str:
    return " ".join(line for line in (part.strip(" *") for part in str(error).splitlines()) if line)[:400]


def manual(text: str | None) -> str:
    """Return the documentation of an environment as a model should read it: the rules, not the history."""
    whole = inspect.cleandoc(text or "")
    whole = _DROPPED.sub("", _FIGURE.sub("", whole)).strip()
    return textwrap.dedent(whole)[:LONGEST_TEXT]


def packages(entry: Any, *names: str) -> dict[str, str]:
    """Return the versions of a framework, and of the distribution that has the module of an entry point."""
    from importlib.metadata import packages_distributions

    top = module_of(entry).partition(".")[0]
    own = packages_distributions().get(top, []) if top and top not in names else []
    return versions(*names, *own)


def module_of(entry: Any) -> str:
    """Return the name of the module of an entry point: a text `MODULE:NAME`, or a class or function."""
    return entry.partition(":")[0] if isinstance(entry, str) else str(getattr(entry, "__module__", ""))


def content(entry: Any, found: Mapping[str, str], *facts: Any) -> str:
    """Return the digest of an environment: versions, facts, and its source file if that is of no distribution."""
    module = sys.modules.get(module_of(entry))
    file = getattr(module, "__file__", None)
    loose = file is not None and "site-packages" not in file and "dist-packages" not in file
    return digest(dict(found), list(facts), *([Path(file)] if loose and file else []))


def number(given: Any, what: str) -> float:
    """Return a number of a framework as a float, NaN for one that is not finite. Raises Failed for anything else."""
    try:
        return float(given)
    except (TypeError, ValueError) as error:
        raise Failed(f"{what} is {given!r:.80}, no number", "environment_invalid") from error
