"""The leaderboard's categories: which are evaluated here, their files, and why the others are not evaluated."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mesocosm.core.failure import UsageError
from mesocosm.core.registry import suggestion

Language = Literal["python", "java", "javascript"]
Expects = Literal["calls", "none", "any"]
"""The right answer: the calls of the answer key, no call at all, or at least one call."""


@dataclass(frozen=True, slots=True)
class Category:
    """One category. `old` is its name in version 3 of the data, if that differs."""

    name: str
    expects: Expects = "calls"
    language: Language = "python"
    old: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Its current and old names."""
        return (self.name, self.old) if self.old else (self.name,)

    @property
    def files(self) -> tuple[str, ...]:
        """The possible names of its file, the newest first."""
        return (f"BFCL_v4_{self.name}.json", f"BFCL_v3_{self.old or self.name}.json")


CATEGORIES = (
    Category("simple_python", old="simple"),
    Category("multiple"),
    Category("parallel"),
    Category("parallel_multiple"),
    Category("irrelevance", "none"),
    Category("simple_java", language="java", old="java"),
    Category("simple_javascript", language="javascript", old="javascript"),
    Category("live_simple"),
    Category("live_multiple"),
    Category("live_parallel"),
    Category("live_parallel_multiple"),
    Category("live_irrelevance", "none"),
    Category("live_relevance", "any"),
)

_NEEDS_STATE = "it is played over several turns against the leaderboard's own simulated systems"
_NEEDS_NETWORK = "it calls services on the network"
UNSUPPORTED = {
    "multi_turn": _NEEDS_STATE,
    "memory": _NEEDS_STATE,
    "exec": "it executes functions that call services on the network",
    "rest": _NEEDS_NETWORK,
    "web_search": _NEEDS_NETWORK,
    "sql": "its answers are judged by running them on a database that is not published with it",
    "format_sensitivity": "it repeats other categories in many prompt formats",
}
"""Prefixes of the names of categories that are not evaluated, with the reason."""


def chosen(names: Iterable[str]) -> tuple[Category, ...]:
    """Return the categories with these names, in the usual order. Raises UsageError for one that is not available."""
    wanted = {_find(name) for name in names}
    return tuple(category for category in CATEGORIES if category in wanted)


def _find(name: str) -> Category:
    for category in CATEGORIES:
        if name in category.names:
            return category
    for beginning, reason in UNSUPPORTED.items():
        if name.startswith(beginning):
            raise UsageError(f"category {name!r} of bfcl is not evaluated here, because {reason}")
    known = [category.name for category in CATEGORIES]
    raise UsageError(f"bfcl has no category {name!r}{suggestion(name, known)}")
