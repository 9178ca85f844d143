"""What waits to be played, and who comes next."""

import time
from heapq import heapify, heappop, heappush

import msgspec
from sqlalchemy import Connection, func, select

from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.tenancy import requests

MOST = 2_000
"""Waiting runs that are looked at to say who comes when."""


class Waiting(msgspec.Struct, frozen=True):
    """Where a run stands in the queue: `position` counts from 1 and is None far behind, `length` all that wait."""

    position: int | None
    length: int


class WaitingRuns:
    """Runs that wait to be played. `store.run_requests.RunRequests.claim` says who comes next."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def place(self, run_id: str) -> Waiting | None:
        """Return where a run would come if nobody else asked for one and nothing ended; None where it does not wait.

        As in `claim`, whoever has the fewest runs being played comes first, then who has waited longest.
        """

        def work(connection: Connection) -> Waiting | None:
            mine = select(requests.c.state).where(requests.c.run_id == plain(run_id))
            if connection.scalar(mine) != "queued":
                return None
            waits = requests.c.state == "queued"
            length = connection.scalar(select(func.count()).select_from(requests).where(waits)) or 0
            columns = (
                requests.c.actor,
                requests.c.purpose != "test",
                requests.c.created_at,
                requests.c.run_id,
            )
            rows = connection.execute(select(*columns).where(waits).order_by(requests.c.created_at).limit(MOST)).all()
            busy = select(requests.c.actor, func.count()).where(
                requests.c.state == "claimed", requests.c.lease_until >= time.time()
            )
            held = {row[0]: int(row[1]) for row in connection.execute(busy.group_by(requests.c.actor))}
            order = _in_turn([(row[0], bool(row[1]), float(row[2]), row[3]) for row in rows], held)
            return Waiting(order.index(run_id) + 1 if run_id in order else None, length)

        return self._database.read(work)


def _in_turn(rows: list[tuple[str, bool, float, str]], held: dict[str, int]) -> list[str]:
    """Return run ids as they would be claimed. A row is actor, whether it is no test, time, run id."""
    theirs: dict[str, list[tuple[bool, float, str]]] = {}
    for actor, ordinary, since, run_id in rows:
        theirs.setdefault(actor, []).append((ordinary, since, run_id))
    for line in theirs.values():
        line.sort(reverse=True)
    first = [(held.get(actor, 0), min(item[1] for item in line), actor) for actor, line in theirs.items()]
    heapify(first)
    found = []
    while first:
        count, _, actor = heappop(first)
        line = theirs[actor]
        found.append(line.pop()[2])
        if line:
            heappush(first, (count + 1, min(item[1] for item in line), actor))
    return found
