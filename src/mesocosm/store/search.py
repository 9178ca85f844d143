"""Search of what was said in the episodes of runs: exact sets of episodes, with their verdicts.

Words are looked up in the index (`search_index`). Where they do not decide (exact words, tools, texts that a reader may
not see) the traces of the episodes in question are read. Finished episodes that are not in the index yet are read too,
unless there are many: then the answer says how many were left out.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain
from operator import or_ as union
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, tuple_

from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.score import Metric
from mesocosm.store.blobs import Blobs
from mesocosm.store.database import Database
from mesocosm.store.episode_lists import episodes_by_id
from mesocosm.store.filters import RunFilter
from mesocosm.store.pagination import checked
from mesocosm.store.runs import Runs
from mesocosm.store.schema import run_index, runs, search_blocks, search_pages, search_pending
from mesocosm.store.search_blocks import PageReader, WordReader, numbers_of, page_number
from mesocosm.store.search_index import (
    IndexedEpisode,
    SearchIndex,
    passing_of,
    read_ids,
    read_traces,
    unindexed,
    verdict_sets,
)
from mesocosm.store.search_query import Heard, Occurrence, SearchQuery
from mesocosm.store.search_words import ALL, OPEN, SaidIn, tool_key, utterances, with_content
from mesocosm.store.traces import Traces

Item = TypeVar("Item")

_FIRST_WINDOW, _WINDOW = 8, 256
"""Blocks that are read at once: few first, as they may fill the page; then two megabytes of pages for each word."""
_PAGES = 200
"""Pages per statement; older SQLite versions allow at most 999 parameters."""
_UNINDEXED = 2_000
"""Episodes that are searched without the index, at most: a fifth of a second."""
_END = 2**20
"""A number beyond all episodes of a block."""
_VERIFIED = 50
"""Episodes whose traces are read at once."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a reader may see of a run: all, or (`outside`) only observations and actions.

    `redact` is applied to the lines of traces; it changes nothing that has none of the words for which `hides` is true.
    """

    outside: bool = False
    redact: Callable[[bytes], bytes] | None = None
    hides: Callable[[str], bool] = lambda _word: False


FULL = Sight()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An episode in which the query was found, and where first."""

    episode: Episode
    verdict: str
    where: Occurrence


@dataclass(slots=True)
class SearchResult:
    """The set of the episodes that match.

    `verdicts` counts them by verdict (empty: neither passed nor failed), `all_verdicts` all that were searched;
    `places` those that match in one place alone, by its name. `complete`: every one of `searched` episodes was decided;
    else the counts are of those decided in the given time. `finished` is the number of finished episodes: more than
    were searched if many are not in the index yet. All these are given on the first page only. `cursor` is that of the
    next page, None on the last.
    """

    hits: list[SearchHit] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    all_verdicts: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    searched: int = 0
    finished: int = 0
    complete: bool = True
    cursor: str | None = None

    @property
    def episodes(self) -> int:
        """The number of episodes that match."""
        return self.verdicts.total()


@dataclass(slots=True)
class _Block:
    run_id: str
    stretch: int
    part: int
    size: int
    page_count: int
    sets: dict[str, int]
    pages: dict[int, PageReader] = field(default_factory=dict)
    words: dict[tuple[str, bool], list[WordReader]] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, int, int]:
        return self.run_id, self.stretch, self.part

    def look(self, word: str, prefix: bool, places: int) -> int:
        words = self.words.get((word, prefix))
        if words is None:
            page = self.pages.get(page_number(word, self.page_count))
            words = self.words[word, prefix] = [] if page is None else page.find(word, prefix=prefix)
        return reduce(union, (one.episodes(places) for one in words), 0)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page of hits ends: an unindexed episode (stretch -1), or one of a block."""

    run_id: str
    stretch: int
    part: int
    number: int

    @classmethod
    def read(cls, cursor: str) -> "_Place":
        run_id, *numbers = cursor.split("~")
        if len(numbers) != 3 or not all(number.lstrip("-").isdecimal() and len(number) < 19 for number in numbers):
            raise UsageError("the cursor is not one of this search; begin with the first page")
        return cls(run_id, *map(int, numbers))

    def write(self) -> str:
        return f"{self.run_id}~{self.stretch}~{self.part}~{self.number}"


class Search:
    """Finds what was said."""

    def __init__(self, database: Database, runs: Runs) -> None:
        self.index = SearchIndex(database)
        self._database = database
        self._runs = runs

    def find(
        self,
        query: SearchQuery,
        wanted: RunFilter | None = None,
        *,
        run_id: str = "",
        sight: Callable[[str], Sight] = lambda _run: FULL,
        verdict: str = "",
        cursor: str | None = None,
        limit: int = 20,
        budget_s: float = 2.0,
    ) -> SearchResult:
        """Return a page of the episodes that match, in the runs of a filter or in one run (its whole id).

        Newer runs come first, in each the order of its plan; episodes that are not indexed yet come before all others.
        `sight` says what the reader may see of a run; with `verdict` only hits of this verdict are listed. The first
        page counts all episodes that match, as far as `budget_s` seconds suffice. Raises UsageError for an invalid
        cursor or limit.
        """
        checked(limit)
        after = None if cursor is None else _Place.read(cursor)
        scope = self._runs.conditions(wanted or RunFilter(), run_index.c)
        if run_id:
            scope = [*scope, run_index.c.run_id == run_id]
        work = _Work(self._database, query, scope, sight, verdict, limit, after, time.monotonic() + budget_s)
        return work.done()


class _Work:
    """One search."""

    def __init__(
        self,
        database: Database,
        query: SearchQuery,
        scope: Sequence[ColumnElement[bool]],
        sight: Callable[[str], Sight],
        verdict: str,
        limit: int,
        after: _Place | None,
        end: float,
    ) -> None:
        self._database = database
        self._blobs = Blobs(database)
        self._query = query
        self._scope = scope
        self._sight = sight
        self._sights: dict[str, Sight] = {}
        self._verdict = verdict
        self._limit = limit
        self._after = after
        self._end = end
        self._result = SearchResult()
        self._last: _Place | None = None
        self._found: list[tuple[str, str, Occurrence]] = []

    def done(self) -> SearchResult:
        if self._after is None or self._after.stretch < 0:
            self._search_unindexed()
        for block in self._blocks():
            if self._over():
                break
            self._search_block(block)
            if self._result.complete and not self._full:
                self._last = _Place(*block.place, _END)
        if not self._result.complete and self._result.cursor is None and self._last is not None:
            # Out of time before the page was full: the next page continues here.
            self._result.cursor = self._last.write()
        ids = [episode_id for episode_id, *_ in self._found]
        listed = {one.id: one for one in self._database.read(partial(episodes_by_id, ids=ids))}
        # Those that were deleted meanwhile are left out.
        self._result.hits = [
            SearchHit(listed[key], verdict, where) for key, verdict, where in self._found if key in listed
        ]
        return self._result

    def _over(self) -> bool:
        """Return whether to stop: a later page is full, or there is no time left."""
        if time.monotonic() > self._end:
            self._result.complete = False
            return True
        return self._after is not None and self._full

    @property
    def _full(self) -> bool:
        return self._result.cursor is not None

    # Episodes that are not in the index

    def _search_unindexed(self) -> None:
        left = _UNINDEXED
        for run_id, number in self._pending():
            self._result.finished += number
            if not left or number <= 0 or self._over():
                continue
            metric, found = self._database.read(partial(_left, run_id=run_id, most=left))
            left -= len(found)
            for episode, heard in self._read(run_id, found, lambda one: one.id):
                if self._over():
                    break
                self._result.searched += 1
                verdict = episode.verdict(metric)
                self._result.all_verdicts[verdict] += 1
                self._decide(_Place(run_id, -1, 0, episode.position), episode.id, verdict, heard)

    def _pending(self) -> list[tuple[str, int]]:
        """Return the pending runs, newest first, with the number of their finished episodes that no block has."""
        done = runs.c.completed + runs.c.truncated + runs.c.timeout + runs.c.failed
        run_id = search_pending.c.run_id
        pending = (
            select(run_id, done)
            .join(run_index, run_index.c.run_id == run_id)
            .join(runs, runs.c.id == run_id)
            .where(*self._scope)
            .order_by(run_id.desc())
        )
        total = func.sum(search_blocks.c.episodes)
        indexed = select(run_id, total).join(search_blocks, search_blocks.c.run_id == run_id).group_by(run_id)

        def work(connection: Connection) -> list[tuple[str, int]]:
            known = {key: int(value) for key, value in connection.execute(indexed)}
            return [(key, number - known.get(key, 0)) for key, number in connection.execute(pending)]

        return self._database.read(work)

    # Blocks

    def _blocks(self) -> Iterator[_Block]:
        column = search_blocks.c
        place = self._after if self._after is not None and self._after.stretch >= 0 else None
        words, window = self._words(), min(_FIRST_WINDOW, _WINDOW)
        while True:
            conditions = list(self._scope)
            if place is not None:
                here = (
                    column.run_id == place.run_id,
                    tuple_(column.stretch, column.part) >= (place.stretch, place.part),
                )
                conditions.append(or_(column.run_id < place.run_id, and_(*here)))
            some = (
                select(column.run_id, column.stretch, column.part, column.episodes, column.page_count, column.verdicts)
                .join(run_index, run_index.c.run_id == column.run_id)
                .where(*conditions)
                .order_by(column.run_id.desc(), column.stretch, column.part)
                .limit(window + 1)
            )
            found = self._database.read(partial(self._read_blocks, some=some, words=words))
            yield from found[:window]
            if len(found) <= window:
                return
            place = _Place(*found[-1].place, -1)
            window = min(2 * window, _WINDOW)

    def _words(self) -> list[str]:
        tool = [tool_key(self._query.tool)] if self._query.tool else []
        return [*self._query.words, *tool]

    def _read_blocks(self, connection: Connection, some: Any, words: Sequence[str]) -> list[_Block]:
        found = {
            (run_id, stretch, part): _Block(run_id, stretch, part, size, count, verdict_sets(verdicts))
            for run_id, stretch, part, size, count, verdicts in connection.execute(some)
        }
        keys = {(*key, page_number(word, block.page_count)) for key, block in found.items() for word in words}
        for run_id, stretch, part, number, data in _pages(connection, list(keys)):
            found[run_id, stretch, part].pages[number] = PageReader(data)
        return list(found.values())

    def _search_block(self, block: _Block) -> None:
        query, result = self._query, self._result
        first = self._after is None
        if first:
            result.searched += block.size
            result.finished += block.size
            self._count(block, (1 << block.size) - 1, result.all_verdicts)
        # Also those that match in one place alone, and are left out for what was said in another.
        maybe = query.found(block.look, ALL, maybe=True)
        if not maybe:
            return
        sight = self._sight_of(block.run_id)
        hidden = sight.outside or (sight.redact is not None and self._may_hide(sight))
        if hidden or not query.exact:
            self._verify(block, maybe)
            return
        found = query.found(block.look, query.places, maybe=False)
        if first:
            self._count(block, found, result.verdicts)
            for said in (SaidIn.CALL,) if query.tool else SaidIn:
                here = query.found(block.look, said.value, maybe=False)
                result.places[said.word] += here.bit_count()
        self._list(block, found)

    def _may_hide(self, sight: Sight) -> bool:
        """Return whether what is redacted for the reader may have a word of the query."""
        return any(term.open_end for term in self._query.terms) or any(map(sight.hides, self._words()))

    def _count(self, block: _Block, found: int, counted: Counter[str]) -> None:
        rest = found
        for name, verdicts in block.sets.items():
            counted[name] += (found & verdicts).bit_count()
            rest &= ~verdicts
        counted[""] += rest.bit_count()

    def _list(self, block: _Block, found: int) -> None:
        """List episodes that match for sure, as many as are still wanted."""
        if self._full:
            return
        if self._verdict:
            found &= block.sets[self._verdict]
        for batch in _in_batches(self._numbers(block, found), max(1, self._limit - len(self._found) + 1)):
            for place, episode, heard in self._utterances(block, batch):
                self._hit(place, episode, _verdict_of(block, place.number), heard)
            if self._result.cursor is not None:
                return

    def _verify(self, block: _Block, maybe: int) -> None:
        """Read the traces of the episodes that may match, count and list those that do."""
        for batch in _in_batches(self._numbers(block, maybe), _VERIFIED):
            if self._over():
                return
            for place, episode, heard in self._utterances(block, batch):
                self._decide(place, episode, _verdict_of(block, place.number), heard)

    def _numbers(self, block: _Block, found: int) -> list[int]:
        """Return the numbers of episodes in a block, without those of earlier pages."""
        after = self._after
        if after is not None and (after.run_id, after.stretch, after.part) == block.place:
            found = found >> (after.number + 1) << (after.number + 1)
        return numbers_of(found)

    def _utterances(self, block: _Block, numbers: Sequence[int]) -> Iterator[tuple[_Place, str, Heard]]:
        column = search_blocks.c
        mine = (column.run_id == block.run_id, column.stretch == block.stretch, column.part == block.part)
        packed = self._database.scalar(select(column.ids).where(*mine))
        ids = [] if packed is None else read_ids(packed)
        some = [(number, ids[number]) for number in numbers if number < len(ids)]
        for (number, episode_id), heard in self._read(block.run_id, some, lambda one: one[1]):
            yield _Place(*block.place, number), episode_id, heard

    # Episodes

    def _read(self, run_id: str, items: Sequence[Item], id_of: Callable[[Item], str]) -> Iterator[tuple[Item, Heard]]:
        """Yield episodes of a run with what the reader may see of what was said, and the same folded."""
        sight = self._sight_of(run_id)
        for item, chunks in read_traces(Traces(self._database, sight.redact), items, id_of):
            # Outsiders may not read content that is kept apart.
            shown = chunks if sight.outside else with_content(chunks, self._blobs, sight.redact)
            said = utterances(shown, spoken=not sight.outside)
            allowed = OPEN if sight.outside else ALL
            yield item, self._query.heard(one for one in said if one.said & allowed)

    def _sight_of(self, run_id: str) -> Sight:
        sight = self._sights.get(run_id)
        if sight is None:
            sight = self._sights[run_id] = self._sight(run_id)
        return sight

    def _decide(self, place: _Place, episode_id: str, verdict: str, heard: Heard) -> None:
        """Count an episode if it matches, and list it if it is wanted."""
        query, result = self._query, self._result
        if self._after is None:
            for one in SaidIn:
                if query.matches(heard, one.value):
                    result.places[one.word] += 1
        if query.matches(heard, query.places):
            if self._after is None:
                result.verdicts[verdict] += 1
            self._hit(place, episode_id, verdict, heard)
        if not self._full:
            self._last = place

    def _hit(self, place: _Place, episode_id: str, verdict: str, heard: Heard) -> None:
        result = self._result
        if self._full or self._earlier(place) or (self._verdict and verdict != self._verdict):
            return
        if len(self._found) == self._limit:
            assert self._last is not None
            result.cursor = self._last.write()
            return
        best = self._query.best(heard, self._query.places)
        if best is None:  # changed since the index was made
            return
        where = Occurrence(best.said, best.seq, best.step, *self._query.snippet(best.text or best.tool))
        self._found.append((episode_id, verdict, where))
        self._last = place

    def _earlier(self, place: _Place) -> bool:
        """Return whether an unindexed episode was on an earlier page."""
        after = self._after
        if after is None or place.stretch >= 0 or after.stretch >= 0:
            return False
        return (place.run_id, -place.number) >= (after.run_id, -after.number)


def _left(connection: Connection, run_id: str, most: int) -> tuple[Metric | None, list[IndexedEpisode]]:
    return passing_of(connection, run_id), unindexed(connection, run_id, most)


def _in_batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


def _verdict_of(block: _Block, number: int) -> str:
    return next((name for name, found in block.sets.items() if found >> number & 1), "")


def _pages(connection: Connection, keys: Sequence[tuple[str, int, int, int]]) -> Iterator[Any]:
    """Yield the rows of `search_pages` with these keys."""
    column = search_pages.c
    key = (column.run_id, column.stretch, column.part, column.number)
    for start in range(0, len(keys), _PAGES):
        some = keys[start : start + _PAGES]
        if connection.dialect.name != "sqlite":
            yield from connection.execute(select(search_pages).where(tuple_(*key).in_(some)))
            continue
        # For `(a, b) IN (…)` SQLite reads the whole table; a join in this order takes the key's index.
        marks = ",".join(["(?,?,?,?)"] * len(some))
        same = " AND ".join(f"page.{one.name} = wanted.k{place}" for place, one in enumerate(key))
        text = (
            f"WITH wanted(k0, k1, k2, k3) AS (VALUES {marks}) "  # noqa: S608 - marks and names of columns
            f"SELECT page.* FROM wanted CROSS JOIN {search_pages.name} AS page ON {same}"
        )
        yield from connection.exec_driver_sql(text, tuple(chain.from_iterable(some)))
