"""Where runs stand: tasks of a run with an episode of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection, select

from mesocosm.core.episode import FINISHED
from mesocosm.store.part import Part
from mesocosm.store.schema import episodes

_FINISHED = sorted(status.value for status in FINISHED)
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Played:
    """A task as a run played it: its name for people, and the id of its first finished trial."""

    task_id: str
    episode_id: str


class Standings(Part):
    """Questions about many runs or many tasks at once."""

    @classmethod
    def of(cls, store: Part) -> Self:
        """Return the same questions over the database of `store`."""
        return cls(store._database)  # noqa: SLF001 - a part of the same store

    def played(self, run_id: str, digests: Sequence[str]) -> dict[str, Played]:
        """Return those of the named tasks that a run has finished, by task digest; 2,000 of them take some 10 ms."""
        columns = (episodes.c.task_digest, episodes.c.task_id, episodes.c.id)
        finished = (episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))

        def work(connection: Connection) -> dict[str, Played]:
            found: dict[str, Played] = {}
            for start in range(0, len(digests), _BATCH):
                some = episodes.c.task_digest.in_(digests[start : start + _BATCH])
                wanted = select(*columns).where(*finished, some).order_by(episodes.c.task_digest, episodes.c.trial)
                for digest, task_id, episode_id in connection.execute(wanted):
                    found.setdefault(digest, Played(task_id, episode_id))
            return found

        return self._database.read(work)
