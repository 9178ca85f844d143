"""Reviews: rounds, who has which of their items, and verdicts, which are only ever added."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.review import Round, RoundItem, Verdict, current
from mesocosm.store.clock import now
from mesocosm.store.database import Database, batches
from mesocosm.store.lookup import resolve
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.schema import episodes, review_claims, review_items, review_rounds, verdicts

CLAIM_S = 600.0
"""Seconds for which an item stays with who has it before them; then others get it too."""

_COLUMNS = ("id", "name", "created_at", "created_by", "created_by_name", "closed_at")
_labels = msgspec.json.Decoder(dict[str, str | bool | float])


class RoundProgress(msgspec.Struct, frozen=True):
    """How far a round is: its episodes, how many have how many verdicts, and by whom: author, name, number."""

    items: int = 0
    judged: dict[int, int] = {}
    people: tuple[tuple[str, str, int], ...] = ()


class Superseded(UsageError):
    """The author has said something else meanwhile, in another window."""


class Reviews:
    """Rounds and verdicts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, made: Round, episode_ids: Sequence[str]) -> Round:
        """Add a round of these episodes, in this order; return it with its id and time.

        Raises UsageError without episodes, UnknownName if one of them is gone.
        """
        if not episode_ids:
            raise UsageError("no episode matches, so there is nothing to review; choose another filter")
        round_id = new_id()

        def work(connection: Connection) -> Round:
            known: dict[str, str] = {}
            for some in batches(list(episode_ids)):
                wanted = select(episodes.c.id, episodes.c.run_id).where(episodes.c.id.in_(some))
                known |= {row.id: row.run_id for row in connection.execute(wanted)}
            gone = next((one for one in episode_ids if one not in known), None)
            if gone is not None:
                raise UnknownName(f"episode {gone} was deleted meanwhile; create the round again")
            found = msgspec.structs.replace(
                made, id=round_id, created_at=now(connection), runs=tuple(dict.fromkeys(known.values()))
            )
            values = {name: value for name, value in values_of(found).items() if name in _COLUMNS}
            fields = {name: value for name, value in msgspec.to_builtins(found).items() if name not in _COLUMNS}
            connection.execute(insert(review_rounds).values(**values, document=plain(json_text(fields))))
            rows = [(round_id, number, known[one], one) for number, one in enumerate(episode_ids, 1)]
            self._database.add(connection, review_items, rows)
            return found

        return self._database.write(work)

    def get(self, reference: str) -> Round:
        """Return a round by its id or a unique prefix of it. Raises UnknownName."""

        def work(connection: Connection) -> Round:
            found = resolve(connection, review_rounds, reference, "review round")
            row = connection.execute(select(review_rounds).where(review_rounds.c.id == found)).mappings().one()
            return _round_from(row)

        return self._database.read(work)

    def list(self, run_id: str = "", limit: int = 1_000) -> tuple[Round, ...]:
        """Return rounds, the newest first; with `run_id` those with an episode of this run."""
        wanted = select(review_rounds).order_by(review_rounds.c.created_at.desc(), review_rounds.c.id.desc())
        if run_id:
            mine = select(review_items.c.round_id).where(review_items.c.run_id == plain(run_id))
            wanted = wanted.where(review_rounds.c.id.in_(mine))
        return tuple(map(_round_from, self._database.all(wanted.limit(limit))))

    def change(self, round_id: str, *, name: str | None = None, closed: bool | None = None) -> None:
        """Rename, close or open a round. A round that is closed stays closed at its first time."""
        values: dict[str, Any] = {} if name is None else {"name": plain(name)}

        def work(connection: Connection) -> None:
            if closed is not None:
                closed_at = func.coalesce(review_rounds.c.closed_at, now(connection)) if closed else None
                values["closed_at"] = closed_at
            if values:
                connection.execute(update(review_rounds).where(review_rounds.c.id == round_id).values(values))

        self._database.write(work)

    def delete(self, round_id: str) -> None:
        """Delete a round with its verdicts."""

        def work(connection: Connection) -> None:
            connection.execute(delete(verdicts).where(verdicts.c.round_id == round_id))
            connection.execute(delete(review_rounds).where(review_rounds.c.id == round_id))

        self._database.write(work)

    def items(self, round_id: str) -> tuple[RoundItem, ...]:
        """Return the items of a round in their order; those of deleted episodes are gone."""
        wanted = select(review_items).where(review_items.c.round_id == round_id).order_by(review_items.c.number)
        return tuple(record_of(RoundItem, row) for row in self._database.all(wanted))

    def of_round(self, round_id: str) -> tuple[Verdict, ...]:
        """Return all verdicts of a round, the oldest first, also those that do not hold any more."""
        return self._verdicts(verdicts.c.round_id == round_id)

    def of_episode(self, episode_id: str) -> tuple[Verdict, ...]:
        """Return all verdicts on an episode, the oldest first, also those that do not hold any more."""
        return self._verdicts(verdicts.c.episode_id == episode_id)

    def of_run(self, run_id: str) -> tuple[Verdict, ...]:
        """Return all verdicts on the episodes of a run, the oldest first, also those that do not hold any more."""
        return self._verdicts(verdicts.c.run_id == run_id)

    def progress(self, round_ids: Sequence[str]) -> dict[str, RoundProgress]:
        """Return how far rounds are, by their ids, with three queries for all of them."""
        later = verdicts.alias()
        replaced = select(later.c.id).where(
            *(later.c[name] == verdicts.c[name] for name in ("episode_id", "round_id", "author", "settles")),
            later.c.replaces == verdicts.c.id,
        )
        holds = and_(verdicts.c.withdrawn.is_(False), verdicts.c.settles.is_(False), ~replaced.exists())

        def work(connection: Connection) -> dict[str, RoundProgress]:
            items: dict[str, int] = {}
            judged: dict[str, dict[int, int]] = {}
            people: dict[str, list[tuple[str, str, int]]] = {}
            for some in batches(list(round_ids)):
                mine, said = review_items.c.round_id.in_(some), (verdicts.c.round_id.in_(some), holds)
                counted = select(review_items.c.round_id, func.count()).where(mine).group_by(review_items.c.round_id)
                items |= {row[0]: row[1] for row in connection.execute(counted)}
                each = select(verdicts.c.round_id, func.count().label("number")).where(*said)
                by_episode = each.group_by(verdicts.c.round_id, verdicts.c.episode_id).subquery()
                grouped = select(by_episode.c.round_id, by_episode.c.number, func.count())
                for round_id, number, count in connection.execute(
                    grouped.group_by(by_episode.c.round_id, by_episode.c.number)
                ):
                    judged.setdefault(round_id, {})[number] = count
                who = (verdicts.c.round_id, verdicts.c.author)
                names = select(
                    *who, func.max(verdicts.c.author_name), func.count(), func.min(verdicts.c.at).label("at")
                )
                for round_id, author, name, count, _ in connection.execute(
                    names.where(*said).group_by(*who).order_by("at", verdicts.c.author)
                ):
                    people.setdefault(round_id, []).append((author, name, count))
            return {
                one: RoundProgress(items.get(one, 0), judged.get(one, {}), tuple(people.get(one, ())))
                for one in round_ids
            }

        return self._database.read(work)

    def claim(self, round_id: str, author: str) -> int | None:
        """Give a person the next item of a round, for `CLAIM_S` seconds, and return its number; None if none is left.

        It is the one that they have already, else the first that still needs verdicts beyond those of the people who
        have it before them; what they skipped comes last, and is not given while something else is left.
        """

        def work(connection: Connection) -> int | None:
            # One claim of a round at a time: SQLite has one writer, and PostgreSQL locks the row of the round.
            mine = select(review_rounds).where(review_rounds.c.id == round_id).with_for_update()
            row = connection.execute(mine).mappings().one_or_none()
            if row is None or row["closed_at"] is not None:
                return None
            wanted, at = _round_from(row).reviews, now(connection)
            given = _current_of(connection, round_id)
            done = Counter(verdict.episode_id for verdict in given if not verdict.settles)
            judged = {verdict.episode_id for verdict in given if verdict.author == author and not verdict.settles}
            claims = connection.execute(select(review_claims).where(review_claims.c.round_id == round_id)).all()
            held = Counter(one.number for one in claims if one.author != author and one.until > at)
            own = {one.number: one for one in claims if one.author == author}
            left = select(review_items).where(review_items.c.round_id == round_id).order_by(review_items.c.number)
            needed = [
                item
                for item in connection.execute(left)
                if item.episode_id not in judged and done[item.episode_id] + held[item.number] < wanted
            ]
            has = [item for item in needed if item.number in own and own[item.number].until > at]
            fresh = [item for item in needed if item.number not in own or not own[item.number].skipped]
            found = next(iter([*has, *fresh, *needed]), None)
            if found is None:
                return None
            self._claim(connection, round_id, found.number, author, at + CLAIM_S, skipped=False)
            return int(found.number)

        return self._database.write(work)

    def skip(self, round_id: str, number: int, author: str) -> None:
        """Give an item back; the person gets it again when nothing else is left."""
        self._database.write(lambda connection: self._claim(connection, round_id, number, author, 0.0, skipped=True))

    def save(self, said: Verdict, after: str | None = None) -> Verdict:
        """Add a verdict, which replaces the author's last one of its kind, and return it with its id and time.

        With `after`, that must be the id of the author's last verdict, or empty if they have none: Superseded
        otherwise. Raises UnknownName if the episode is gone.
        """
        verdict_id = new_id()

        def work(connection: Connection) -> Verdict:
            run_id = connection.scalar(select(episodes.c.run_id).where(episodes.c.id == said.episode_id))
            if run_id is None:
                raise UnknownName(f"episode {said.episode_id} was deleted meanwhile; nothing was saved")
            mine = select(verdicts).where(
                verdicts.c.episode_id == said.episode_id,
                verdicts.c.round_id == said.round_id,
                verdicts.c.author == said.author,
                verdicts.c.settles.is_(said.settles),
            )
            earlier = {row["id"]: row for row in connection.execute(mine).mappings()}
            if verdict_id in earlier:
                # Repeated after a commit that succeeded unnoticed.
                return _verdict_from(earlier[verdict_id])
            last = next(iter(set(earlier) - {row["replaces"] for row in earlier.values()}), "")
            if after is not None and after != last:
                raise _superseded(said)
            made = msgspec.structs.replace(said, id=verdict_id, run_id=run_id, at=now(connection), replaces=last)
            values = values_of(made, labels=plain(json_text(made.labels)))
            connection.execute(insert(verdicts).values(values))
            number = select(review_items.c.number).where(
                review_items.c.round_id == said.round_id, review_items.c.episode_id == said.episode_id
            )
            given_back = delete(review_claims).where(
                review_claims.c.round_id == said.round_id,
                review_claims.c.author == said.author,
                review_claims.c.number.in_(number),
            )
            connection.execute(given_back)
            return made

        try:
            return self._database.write(work)
        except IntegrityError:
            # Another window of the same person was faster.
            raise _superseded(said) from None

    def _claim(
        self, connection: Connection, round_id: str, number: int, author: str, until: float, *, skipped: bool
    ) -> None:
        row = (round_id, number, plain(author), until, skipped)
        self._database.add(connection, review_claims, [row], known="replace")

    def _verdicts(self, condition: Any) -> tuple[Verdict, ...]:
        wanted = select(verdicts).where(condition).order_by(verdicts.c.at, verdicts.c.id)
        return tuple(map(_verdict_from, self._database.all(wanted)))


def drop_empty_rounds(connection: Connection) -> None:
    """Delete the rounds of which no episode is left."""
    left = select(review_items.c.round_id)
    connection.execute(delete(review_rounds).where(review_rounds.c.id.not_in(left)))


def _current_of(connection: Connection, round_id: str) -> tuple[Verdict, ...]:
    wanted = select(verdicts).where(verdicts.c.round_id == round_id)
    return current(tuple(map(_verdict_from, connection.execute(wanted).mappings())))


def _superseded(said: Verdict) -> Superseded:
    return Superseded(
        f"you have judged episode {said.episode_id} in another window meanwhile; nothing was saved: load it again"
    )


def _round_from(row: RowMapping) -> Round:
    document = msgspec.json.decode(row["document"])
    return msgspec.convert({**document, **{name: row[name] for name in _COLUMNS}}, Round)


def _verdict_from(row: RowMapping) -> Verdict:
    flags = {name: bool(row[name]) for name in ("settles", "withdrawn")}
    return record_of(Verdict, row, labels=_labels.decode(row["labels"]), **flags)
