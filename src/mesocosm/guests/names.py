"""Names of benchmarks that frameworks offer, for machines where a framework is not installed.

`names.txt` has one name a line, as they are run. `python -m mesocosm.guests.names` writes it anew from the frameworks
that are installed here: all names of each, of lm-evaluation-harness its groups and the tasks with names of one word.
"""

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from mesocosm.guests.kinds import KINDS, GuestKind
from mesocosm.guests.messages import CatalogueEntry

FILE = Path(__file__).with_name("names.txt")
_WORD = re.compile(r"lm-eval:[a-z]+\d*")


@cache
def _names() -> tuple[str, ...]:
    return tuple(FILE.read_text(encoding="utf-8").split())


def named_entries(kind: GuestKind) -> list[CatalogueEntry]:
    """Return what a framework that is not here is known to offer."""
    names = (name for name in _names() if name.startswith(f"{kind.name}:"))
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


def main() -> None:
    """Write the file from the frameworks that are installed here. Frameworks that are not here keep their names."""
    from mesocosm.guests.catalogue import all_entries

    entries, lacking = all_entries(lambda message: print(message, file=sys.stderr))
    missing = {kind.name for kind in lacking}
    before = [name for name in _names() if name.partition(":")[0] in missing] if FILE.is_file() else []
    names = sorted({*kept(entry for entry in entries if entry.run.partition(":")[0] in KINDS), *before})
    FILE.write_text("\n".join(names) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
