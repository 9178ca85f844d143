"""What can be run: the benchmarks of all frameworks that are here, by name and description.

A framework is asked once for each version of its packages and of mesocosm; the answer is kept in a file.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.core.failure import EpisodeError, Incompatible, MesocosmError
from mesocosm.core.ids import digest, digest_bytes
from mesocosm.core.inherited import inherited
from mesocosm.guests.interpreter import facts_of, python_for
from mesocosm.guests.kinds import KINDS, GuestKind
from mesocosm.guests.messages import CatalogueEntry
from mesocosm.guests.names import FILE, kept, known_names, named_entries
from mesocosm.guests.process import GuestCommand, GuestProcess
from mesocosm.sandboxes.installed import guests_folder
from mesocosm.sandboxes.telemetry import OFF


def entries_of(kind: GuestKind, notice: Callable[[str], None], python: str = "") -> Sequence[CatalogueEntry]:
    """Return what a framework offers here. Raises Incompatible if it is not here, UsageError, EpisodeError."""
    found = python_for(kind, python)
    path = _folder() / f"{kind.name}-{digest([found.path, _installed(found.path), _adapters()])[:16]}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[CatalogueEntry])
    except (OSError, msgspec.DecodeError):
        notice(f"reading what {kind.title} offers")
    facts = facts_of(found.path, kind.imports)
    if facts is None or not facts.packages:
        raise Incompatible(kind.title, [f"{found.path} has no {' and '.join(kind.imports)}"])
    entries = _asked(kind, found.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_bytes(msgspec.json.encode(entries))
    new.replace(path)
    return entries


def own_entries() -> list[CatalogueEntry]:
    """Return our own benchmarks: built in, or brought by packages."""
    found = []
    for known in read_catalogue().benchmarks:
        descriptor = known.descriptor
        needs = tuple(
            dict.fromkeys(
                need.name if need.kind in ("program", "package") else need.kind for need in descriptor.requirement
            )
        )
        found.append(
            CatalogueEntry(
                descriptor.id,
                descriptor.id,
                descriptor.title,
                descriptor.description,
                needs=needs,
                licence=descriptor.licence,
            )
        )
    return found


def said_hello(kind: GuestKind, python: str = "") -> str:
    """Start a framework and return the version of its Python. Raises Incompatible, UsageError, EpisodeError."""
    guest = _guest(kind, python_for(kind, python).path)
    try:
        return str(guest.tell("hello")["python"])
    finally:
        guest.end()


def kept_entries() -> Iterator[tuple[GuestKind, list[CatalogueEntry]]]:
    """Yield what frameworks offered when they were last asked; nothing is started."""
    for kind in KINDS.values():
        files = sorted(_folder().glob(f"{kind.name}-*.json"), key=lambda file: file.stat().st_mtime)
        for file in reversed(files):
            try:
                yield kind, _read(file, file.stat().st_mtime_ns)
            except (OSError, msgspec.DecodeError):
                continue
            break


def all_entries(notice: Callable[[str], None]) -> tuple[list[CatalogueEntry], list[GuestKind]]:
    """Return what all frameworks offer, and which frameworks are not here: of those only names are known.

    A broken one is reported and left out.
    """
    found: list[CatalogueEntry] = []
    lacking: list[GuestKind] = []
    for kind in KINDS.values():
        try:
            found += entries_of(kind, notice)
        except Incompatible:
            lacking.append(kind)
            found += named_entries(kind)
        except (MesocosmError, EpisodeError) as error:
            notice(f"{kind.title} does not say what it offers: {error}")
    return found, lacking


def matching(entries: Sequence[CatalogueEntry], words: Sequence[str]) -> list[CatalogueEntry]:
    """Return the entries with all `words`, in any case: those with them in the name first, the shortest name first."""
    wanted = [word.casefold() for word in words]

    def rank(entry: CatalogueEntry) -> tuple[int, int, str] | None:
        name = f"{entry.id} {entry.title} {entry.run}".casefold()
        if all(word in name for word in wanted):
            exact = 0 if entry.id.casefold().rpartition("/")[2] in wanted else 1
            return exact, len(entry.id), entry.run
        whole = " ".join((name, entry.description, *entry.tags)).casefold()
        return (2, len(entry.id), entry.run) if all(word in whole for word in wanted) else None

    ranked = [(place, entry) for entry in entries if (place := rank(entry)) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda one: one[0])]


def _installed(python: str) -> list[int]:
    """Return what changes when packages are installed for an interpreter: the times of its folders of packages."""
    lib = Path(python).parent.parent / "lib"
    return sorted(place.stat().st_mtime_ns for place in lib.glob("python3*/site-packages"))


@cache
def _adapters() -> str:
    """Return the digest of the code that asks frameworks: another version of it may tell more."""
    return digest([digest_bytes(file.read_bytes()) for file in sorted((Path(__file__).parent / "inside").glob("*.py"))])


@lru_cache(maxsize=16)
def _read(file: Path, changed: int) -> list[CatalogueEntry]:
    """Return the entries in a file that was changed at a time, which is part of what is remembered."""
    del changed
    return msgspec.json.decode(file.read_bytes(), type=list[CatalogueEntry])


def _folder() -> Path:
    return guests_folder() / "catalogue"


def _guest(kind: GuestKind, python: str) -> GuestProcess:
    variables = {**OFF, "PYTHONHASHSEED": "0", **inherited(os.environ)}
    return GuestProcess(GuestCommand(python, kind.module, variables, Path.cwd(), f"of {kind.title}"))


def _asked(kind: GuestKind, python: str) -> list[CatalogueEntry]:
    found: list[CatalogueEntry] = []
    guest = _guest(kind, python)
    try:
        guest.tell("catalogue", lambda event: found.append(msgspec.convert(event["entry"], CatalogueEntry)))
    finally:
        guest.end()
    return found


def main() -> None:
    """Write the names anew from the frameworks that are installed here; those that are not keep theirs."""
    entries, lacking = all_entries(lambda message: print(message, file=sys.stderr))
    missing = {kind.name for kind in lacking}
    before = [name for name in known_names() if name.partition(":")[0] in missing]
    FILE.write_text("\n".join(sorted({*kept(entries), *before})) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
