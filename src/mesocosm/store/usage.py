"""How much a domain or an environment was used: its runs counted in the database, whatever their number."""

import msgspec
from sqlalchemy import and_, case, func, select

from mesocosm.core.run import RunStatus
from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import requests


class UsageGroup(msgspec.Struct, frozen=True):
    """Runs that stand alike: how many, their episodes that are over, and their scores.

    `example` is one of them: whatever their state is called, it holds for all. `scored` of them have a primary score,
    which sum up to `total`. `own` says whether those who ask started them.
    """

    example: str
    visibility: str
    own: bool
    count: int
    episodes: int
    scored: int
    total: float
    least: float | None
    most: float | None
    higher_is_better: bool


class Usages:
    """Counts of runs by what they were started on; test episodes are left out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_domain(self, domain_id: str, actor: str) -> tuple[UsageGroup, ...]:
        """Return the runs of a domain in groups, for somebody who asks."""
        return self._groups("domain_id", domain_id, actor)

    def of_environment(self, environment_id: str, actor: str) -> tuple[UsageGroup, ...]:
        """Return the runs of an environment in groups, for somebody who asks."""
        return self._groups("environment_id", environment_id, actor)

    def _groups(self, column: str, value: str, actor: str) -> tuple[UsageGroup, ...]:
        done = runs.c.completed + runs.c.truncated + runs.c.timeout + runs.c.failed
        own = case((requests.c.actor == plain(actor), 1), else_=0).label("own")
        # By its label: PostgreSQL would not see that an expression with parameters is the selected one.
        alike = (
            "own",
            *(requests.c.visibility, requests.c.state, runs.c.status, runs.c.started_at.is_(None)),
            *(done < runs.c.planned, runs.c.higher_is_better),
        )
        score = case((and_(runs.c.status == RunStatus.FINISHED.value), runs.c.score))
        wanted = (
            select(
                func.min(runs.c.id),
                requests.c.visibility,
                own,
                func.count(),
                func.coalesce(func.sum(done), 0),
                func.count(score),
                func.coalesce(func.sum(score), 0.0),
                func.min(score),
                func.max(score),
                runs.c.higher_is_better,
            )
            .join(requests, requests.c.run_id == runs.c.id)
            .where(requests.c[column] == plain(value), requests.c.purpose != "test")
            .group_by(*alike)
        )
        rows = self._database.read(lambda connection: connection.execute(wanted).all())
        return tuple(
            UsageGroup(
                example=row[0],
                visibility=row[1],
                own=bool(row[2]),
                count=row[3],
                episodes=int(row[4]),
                scored=row[5],
                total=float(row[6]),
                least=row[7],
                most=row[8],
                higher_is_better=row[9] is not False,
            )
            for row in rows
        )
