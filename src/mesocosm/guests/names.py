"""Names of benchmarks that frameworks offer, for machines where a framework is not installed.

`names.txt` has one name a line, as they are run. `python -m mesocosm.guests.catalogue` writes it anew from the
frameworks that are installed here: all names of each, of lm-evaluation-harness its groups and the tasks with names of
one word.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from mesocosm.guests.kinds import GuestKind
from mesocosm.guests.messages import CatalogueEntry

FILE = Path(__file__).with_name("names.txt")
_WORD = re.compile(r"lm-eval:[a-z]+\d*")


@cache
def known_names() -> tuple[str, ...]:
    """Return all names of the file."""
    return tuple(FILE.read_text(encoding="utf-8").split())


def named_entries(kind: GuestKind) -> list[CatalogueEntry]:
    """Return what a framework that is not here is known to offer."""
    names = (name for name in known_names() if name.startswith(f"{kind.name}:"))
    return [CatalogueEntry(name.partition(":")[2], name, missing=True) for name in names]


def kept(entries: Iterable[CatalogueEntry]) -> list[str]:
    """Return the names that the file keeps of entries."""
    found = {
        entry.run
        for entry in entries
        if not entry.missing
        and " " not in entry.run
        and (not entry.run.startswith("lm-eval:") or "group" in entry.tags or _WORD.fullmatch(entry.run))
    }
    return sorted(found)
