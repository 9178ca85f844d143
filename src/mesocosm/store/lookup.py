"""Look up rows by a prefix of their id."""

import difflib

from sqlalchemy import Connection, Table, or_, select

from mesocosm.core.failure import UnknownName
from mesocosm.store.rows import plain

_SHOWN = 5


def resolve(connection: Connection, table: Table, reference: str, noun: str = "") -> str:
    """Return the id in `table` that equals `reference`, or the only one that starts with it.

    `noun` names a row in messages. Raises UnknownName with a suggestion.
    """
    noun = noun or table.name.removesuffix("s")
    exact, wanted = plain(reference.strip()), plain(reference.strip().lower())
    if connection.scalar(select(table.c.id).where(table.c.id == exact)) is not None:
        return exact
    # A range, because LIKE cannot use the index in either dialect; the bound is the last Unicode character.
    begun = or_(*((table.c.id >= start) & (table.c.id < start + "\U0010ffff") for start in {exact, wanted}))
    matches = select(table.c.id).where(begun).order_by(table.c.id)
    found = list(connection.scalars(matches.limit(_SHOWN + 1))) if wanted else []
    if len(found) == 1:
        return str(found[0])
    if found:
        more = ", …" if len(found) > _SHOWN else ""
        raise UnknownName(
            f"{reference!r} is the beginning of several {noun} ids: {', '.join(found[:_SHOWN])}{more}; give more of it"
        )
    latest = list(connection.scalars(select(table.c.id).order_by(table.c.id.desc()).limit(200)))
    close = difflib.get_close_matches(wanted, latest, n=1)
    if close:
        hint = f"did you mean {close[0]}?"
    else:
        hint = f"the newest one is {latest[0]}" if latest else "there are none yet"
    raise UnknownName(f"there is no {noun} {reference!r}; {hint}")
