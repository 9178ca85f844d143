"""Search of what was said finds every episode that says it and no other, whatever the index already holds."""

import random
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from sqlalchemy import func, select

from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Boundary, Cause, Failure, InfrastructureError, UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run
from mesocosm.core.score import Score
from mesocosm.store import Store, search, search_blocks
from mesocosm.store.filters import RunFilter
from mesocosm.store.schema import search_blocks as blocks
from mesocosm.store.schema import search_pages as pages
from mesocosm.store.schema import search_pending as pending
from mesocosm.store.search import SearchResult, Sight
from mesocosm.store.search_index import IndexKeeper, SearchIndex
from mesocosm.store.search_query import read_query

if TYPE_CHECKING:
    from tests.store.conftest import Samples

INFO = {"metrics": [{"name": "accuracy", "score": "accuracy", "primary": True}]}

Told = Sequence[tuple[Kind, Any]]
Write = Callable[..., Run]


def reply(text: str, **more: Any) -> tuple[Kind, Any]:
    return Kind.MODEL_CALL, {"text": text, **more}


def entry(samples: "Samples", run: Run, index: int, told: Told, **given: Any) -> Entry:
    events = [Event(n, n // 2, 0.5, kind, payload) for n, (kind, payload) in enumerate(told)]
    raw = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    scores = given.pop("scores", (Score("accuracy", 1.0),))
    episode = samples.episode(run.id, index, scores=scores, events=len(events), **given)
    return Entry(episode, [Chunk(0, 0, len(events) - 1, 0, len(events) // 2, raw)])


@pytest.fixture
def write(store: Store, samples: "Samples") -> Write:
    """Return what stores a run whose episodes say this; `indexed`: and indexes it."""

    def stored(*told: Told, indexed: bool = True, **given: Any) -> Run:
        run = samples.run(info=INFO, **given)
        store.bundles.insert(run, [entry(samples, run, index, one) for index, one in enumerate(told)])
        if indexed:
            assert store.search.index.update()
        return run

    return stored


def find(store: Store, text: str, wanted: RunFilter | None = None, **given: Any) -> SearchResult:
    return store.search.find(read_query(text), wanted, budget_s=60, **given)


def indexes(result: SearchResult) -> list[int]:
    return [hit.episode.index for hit in result.hits]


def both(store: Store, text: str, **given: Any) -> list[int]:
    """Return the episodes found without the index, after checking that the index finds the same."""
    before = find(store, text, **given)
    assert store.search.index.update()
    after = find(store, text, **given)
    assert indexes(before) == indexes(after)
    assert (before.verdicts, before.places) == (after.verdicts, +after.places)
    return indexes(after)


def test_a_phrase_is_found_as_often_as_it_was_said(store: Store, write: Write) -> None:
    planted = set(random.Random(7).sample(range(100), 69))
    told = [[reply("I cannot help with that." if n in planted else "That I cannot: help with it")] for n in range(100)]
    write(*told)

    result = find(store, '"cannot help with"', limit=100)

    assert result.episodes == 69
    assert set(indexes(result)) == planted
    assert (result.complete, result.searched, result.finished) == (True, 100, 100)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("week", [0, 2]),
        ("WEEK", [0, 2]),
        ("wee*", [0, 1, 2]),
        ('"per week"', [0]),
        ('"PER  week"', [0]),
        ("week per", [0]),
        ("week -per", [2]),
        ("weeks", [1]),
        ("$540", [0]),
        ("540", [0, 1]),
        ("5 week", [2]),
        ("can't", [1, 3]),
        ("can\u2019t", [1, 3]),
        ('"he can\'t go"', [3]),
        ('"er week"', []),
        ("wee", []),
    ],
)
def test_words_phrases_beginnings_and_exclusions(store: Store, write: Write, query: str, expected: list[int]) -> None:
    write(
        [reply("He makes $540 per\nweek.")],
        [reply("In 4 weeks, 540 more; he can't")],
        [reply("One week has 5 days")],
        [reply("so he can\u2019t go")],
        indexed=False,
    )

    assert both(store, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("東京", [0]),
        ("京", [0, 1]),
        ("ไทย", [2]),
        ("한국", [3]),
        ("straße", [4]),
        ("STRASSE", [4]),
        ("नमस्ते", [5]),
        ("🟩", [6]),
    ],
)
def test_other_scripts_are_found_without_spaces(store: Store, write: Write, query: str, expected: list[int]) -> None:
    texts = ["私は東京に住む", "京都", "ภาษาไทยง่าย", "한국어는", "die Straße", "नमस्ते दुनिया", "⬛🟩⬛"]
    write(*([reply(text)] for text in texts), indexed=False)

    assert both(store, query) == expected


def test_where_it_was_said_narrows_the_search(store: Store, write: Write) -> None:
    write(
        [
            (Kind.OBSERVATION, {"data": "apple"}),
            reply("banana", reasoning="cherry"),
            (Kind.TOOL_CALL, {"id": "1", "name": "look_up", "arguments": {"fruit": "damson"}}),
            (Kind.MESSAGE, {"index": 3, "role": "tool", "tool_call_id": "1", "content": "elderberry"}),
            (Kind.ACTION, {"action": {"eat": "fig"}}),
            (Kind.OBSERVATION, {"data": {"left": ["grape"]}}),
        ],
        indexed=False,
    )
    places = {
        "apple": "question",
        "banana": "reply",
        "cherry": "reasoning",
        "damson": "call",
        "elderberry": "result",
        "fig": "action",
        "grape": "observation",
    }

    for word, place in places.items():
        assert both(store, f"in:{place} {word}") == [0]
        assert both(store, f"in:{place} {next(other for other in places if other != word)}") == []
        assert dict(+find(store, word).places) == {place: 1}
        assert find(store, word).hits[0].where.said.word == place


def test_a_tool_narrows_the_search_to_its_calls_and_results(store: Store, write: Write) -> None:
    def call(name: str, city: str) -> list[tuple[Kind, Any]]:
        return [
            reply("", tool_calls=[{"id": name, "name": name, "arguments": {"city": city}}]),
            (Kind.MESSAGE, {"index": 1, "role": "tool", "tool_call_id": name, "content": f"sunny in {city}"}),
        ]

    write(call("weather", "Paris"), call("Weather", "Rome"), call("news", "Paris"), [reply("Paris")], indexed=False)

    assert both(store, "tool:weather") == [0, 1]
    assert both(store, "tool:weather paris") == [0]
    assert both(store, "tool:weather in:result sunny -rome") == [0]


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("", "give a word"),
        ("-sorry", "give a word"),
        ("!!", "no letter or digit"),
        ('"two words', "not closed"),
        ("in:answer x", "question, reply"),
        ("a*", "two letters"),
        ("-in:reply x", "only words"),
        ("tool:a tool:b", "only one tool"),
        ("tool:a in:reply", "in:call"),
        (" ".join("abcdefghijklmnopqrstuvwxyz"), "at most 20"),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(query: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        read_query(query)


def test_the_result_is_a_measured_set(store: Store, samples: "Samples") -> None:
    run = samples.run(info=INFO)
    failure = Failure(Cause.RATE_LIMITED, Boundary.MODEL, "too many")
    ends: list[dict[str, Any]] = [
        {},
        {"scores": (Score("accuracy", 0.0),)},
        {"scores": (Score("accuracy", None, worst=True),)},
        {"scores": (Score("accuracy", None, Cause.SKIPPED),)},
        {"scores": (Score("accuracy", None, Cause.RATE_LIMITED),), "status": EpisodeStatus.FAILED, "failure": failure},
        {"scores": (Score("accuracy", 0.5),)},
    ]
    entries = [entry(samples, run, n, [reply("word" if n else "other")], **given) for n, given in enumerate(ends)]
    store.bundles.insert(run, entries)

    assert both(store, "word") == [1, 2, 3, 4, 5]
    found = find(store, "word")
    # One score is neither 0 nor 1, so none of them passes or fails; the agent's failure does.
    assert dict(+found.verdicts) == {"not_passed": 1, "missing": 1, "error": 1, "": 2}
    assert dict(+found.all_verdicts) == {"not_passed": 1, "missing": 1, "error": 1, "": 3}
    assert indexes(find(store, "word", verdict="missing")) == [3]
    assert indexes(find(store, "word", verdict="error")) == [4]


def test_a_hit_says_where_to_look(store: Store, write: Write) -> None:
    before = "x " * 300
    run = write([(Kind.OBSERVATION, {"data": "?"}), reply(f"{before}the İstanbul NEEDLE is here{' y' * 300}")])

    (hit,) = find(store, "needle").hits

    assert (hit.episode.run_id, hit.episode.index, hit.verdict, hit.where.seq, hit.where.step) == (
        run.id,
        0,
        "passed",
        1,
        0,
    )
    assert [hit.where.snippet[start:end] for start, end in hit.where.marks] == ["NEEDLE"]
    assert len(hit.where.snippet) < 300


def test_pages_follow_each_other(store: Store, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_blocks, "_MOST", 3)
    monkeypatch.setattr(search, "_WINDOW", 2)
    write(*([reply(f"word {n}")] for n in range(11)), id="1")
    write(*([reply("word")] for n in range(5)), id="2", indexed=False)

    for query in ("word", '"word"', "word*", "wor* -nothing"):
        found: list[tuple[str, int]] = []
        cursor = None
        while True:
            page = find(store, query, limit=3, cursor=cursor)
            found += [(hit.episode.run_id, hit.episode.index) for hit in page.hits]
            cursor = page.cursor
            if cursor is None:
                break
        assert found == [*(("2", n) for n in range(5)), *(("1", n) for n in range(11))]


def test_the_runs_of_a_filter_are_searched(store: Store, write: Write) -> None:
    one = write([reply("word")], model="a/one")
    write([reply("word")], model="b/two")

    result = find(store, "word", RunFilter(models=("a/one",)))

    assert ([hit.episode.run_id for hit in result.hits], result.searched) == ([one.id], 1)
    assert find(store, "word", run_id=one.id).episodes == 1


def test_a_deleted_run_is_found_no_more(store: Store, write: Write) -> None:
    run = write([reply("word")])

    store.runs.delete(run.id)

    assert find(store, "word").episodes == 0
    for table in (blocks, pages, pending):
        assert store.database.scalar(select(func.count()).select_from(table)) == 0


async def test_what_a_run_has_committed_is_found_while_it_goes_on(store: Store, samples: "Samples") -> None:
    run = samples.held(store, info=INFO)
    await samples.write(store, run.id, [entry(samples, run, n, [reply(f"word {n}")]) for n in range(3)])
    assert find(store, "word").episodes == 3

    assert store.search.index.update()

    assert find(store, "word").episodes == 3
    assert store.search.index.pending() == 3, "too few to index while the run goes on"
    store.leases.release(run.id, store.leases.owner())
    assert store.search.index.update()
    assert store.search.index.pending() == 0
    assert find(store, "word").episodes == 3


async def test_an_episode_that_is_played_again_replaces_the_old_one(store: Store, samples: "Samples") -> None:
    run = samples.held(store, info=INFO)
    failed = {
        "status": EpisodeStatus.FAILED,
        "failure": Failure(Cause.RATE_LIMITED, Boundary.MODEL, "too many"),
        "scores": (Score("accuracy", None, Cause.RATE_LIMITED),),
    }
    first = [entry(samples, run, 0, [reply("stays")]), entry(samples, run, 1, [reply("fails")], **failed)]
    await samples.write(store, run.id, first)
    store.leases.release(run.id, store.leases.owner())
    assert store.search.index.update()
    assert find(store, "fails").episodes == 1

    store.leases.take(run.id, store.leases.owner())
    assert store.episodes.drop_failed(run.id) == 1
    assert find(store, "fails").episodes == 0
    await samples.write(store, run.id, [entry(samples, run, 1, [reply("works")])])
    store.leases.release(run.id, store.leases.owner())
    assert store.search.index.update()

    assert [find(store, word).episodes for word in ("stays", "fails", "works")] == [1, 0, 1]


def test_new_scores_are_new_verdicts(store: Store, write: Write) -> None:
    write([reply("word")])
    (hit,) = find(store, "word").hits

    store.episodes.save_scores(hit.episode.run_id, [(hit.episode.id, (Score("accuracy", 0.0),))])

    assert find(store, "word").verdicts == {"not_passed": 1}
    assert store.search.index.update()
    assert +find(store, "word").verdicts == {"not_passed": 1}


def test_a_block_of_episodes_that_changed_meanwhile_is_not_stored(
    store: Store, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write([reply("word")], indexed=False)
    (hit,) = find(store, "word").hits
    pages_of = search_blocks.BlockBuilder.pages

    def rescored(builder: search_blocks.BlockBuilder) -> tuple[int, dict[int, bytes]]:
        monkeypatch.undo()
        store.episodes.save_scores(hit.episode.run_id, [(hit.episode.id, (Score("accuracy", 0.0),))])
        return pages_of(builder)

    monkeypatch.setattr(search_blocks.BlockBuilder, "pages", rescored)

    assert not store.search.index.update()
    assert store.search.index.pending() == 1
    assert store.search.index.update()
    assert +find(store, "word").verdicts == {"not_passed": 1}


def test_two_who_index_at_once_index_once(store: Store, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write([reply("word")], indexed=False)
    pages_of = search_blocks.BlockBuilder.pages

    def late(builder: search_blocks.BlockBuilder) -> tuple[int, dict[int, bytes]]:
        monkeypatch.undo()
        assert store.search.index.update()
        return pages_of(builder)

    monkeypatch.setattr(search_blocks.BlockBuilder, "pages", late)
    store.search.index.update()

    assert find(store, "word").episodes == 1
    assert store.search.index.update()


def test_many_episodes_without_index_are_told(store: Store, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_UNINDEXED", 2)
    write(*([reply("word")] for _ in range(5)), indexed=False)

    result = find(store, "word")

    assert (result.episodes, result.searched, result.finished) == (2, 2, 5)


def test_a_search_that_runs_out_of_time_says_so_and_goes_on(store: Store, write: Write) -> None:
    write(*([reply("one word")] for _ in range(3)))

    result = store.search.find(read_query('"one word"'), budget_s=0)

    assert (result.complete, result.hits) == (False, [])


def test_outsiders_find_only_observations_and_actions(store: Store, write: Write) -> None:
    told: Told = [
        (Kind.MESSAGE, {"index": 0, "role": "user", "content": "prompted"}),
        (Kind.OBSERVATION, {"data": "asked"}),
        reply("said", reasoning="thought"),
        (Kind.OBSERVATION, {"data": "seen"}),
        (Kind.TOOL_CALL, {"id": "1", "name": "called", "arguments": "given"}),
        (Kind.ACTION, {"action": "done", "reasoning": "why"}),
    ]
    write(told, indexed=False)
    for _ in range(2):
        hidden = ("prompted", "asked", "said", "thought", "called", "given", "why", "tool:called", "seen said", "pro*")
        for query in hidden:
            result = find(store, query, sight=lambda _run: Sight(outside=True))
            assert (result.episodes, result.hits, +result.places) == (0, [], {}), query
        assert find(store, "seen", sight=lambda _run: Sight(outside=True)).episodes == 1
        assert find(store, "done -said", sight=lambda _run: Sight(outside=True)).episodes == 1
        assert store.search.index.update()


def test_what_is_masked_for_a_reader_is_not_found(store: Store, write: Write) -> None:
    write(
        [
            reply("in /srv/secretplace there"),
        ],
        [reply("secretplace")],
        indexed=False,
    )
    sight = Sight(redact=lambda raw: raw.replace(b"/srv/secretplace", b"..."), hides=lambda word: word in "secretplace")

    for _ in range(2):
        assert indexes(find(store, "secretplace", sight=lambda _run: sight)) == [1]
        assert indexes(find(store, "there", sight=lambda _run: sight)) == [0]
        assert store.search.index.update()


def large(store: Store, samples: "Samples", *content: Blob) -> Run:
    """Store a run with one episode whose observation is a reference to this content."""
    run = samples.run(info=INFO)
    told = [
        reply("look"),
        *((Kind.OBSERVATION, {"data": {"$blob": one.digest, "bytes": len(one.data)}}) for one in content),
        (Kind.OBSERVATION, {"data": {"$blob": "0" * 64, "bytes": 3}}),
    ]
    stored = entry(samples, run, 0, told)
    store.bundles.insert(run, [Entry(stored.episode, stored.chunks, content)])
    return run


def text_of(text: str, content_type: str = "text/plain") -> Blob:
    return Blob(digest_bytes(text.encode()), content_type, text.encode())


def test_large_content_is_searched_in_its_place(store: Store, samples: "Samples") -> None:
    page = "lorem ipsum\n" * 2_000
    large(
        store, samples, text_of(page + "Größe 42"), text_of('{"state": "a\\nwon\\u0021", "at": 3}', "application/json")
    )

    assert both(store, 'in:observation "ipsum lorem" größe') == [0]
    assert both(store, '"state: a won!"') == [0]
    assert both(store, "in:reply größe") == []
    where = find(store, "größe").hits[0].where
    assert (where.seq, "Größe 42" in where.snippet) == (1, True)


def test_large_content_is_hidden_from_outsiders_and_masked_as_the_rest(store: Store, samples: "Samples") -> None:
    large(store, samples, text_of("the secretplace is here"))
    masked = Sight(redact=lambda raw: raw.replace(b"secretplace", b"..."), hides=lambda word: word in "secretplace")

    for _ in range(2):
        assert find(store, "here", sight=lambda _run: Sight(outside=True)).episodes == 0
        assert find(store, "secretplace", sight=lambda _run: masked).episodes == 0
        (hit,) = find(store, "here", sight=lambda _run: masked).hits
        assert hit.where.snippet == "the ... is here"
        assert store.search.index.update()


ALPHABET = ["ab", "abc", "b", "ÄB", "äb", "Straße", "中", "中文", "x1", "_", "-", "'", '"', "$", ".", "\n", "🟩", "ক্ষ"]


def test_the_same_is_found_as_by_reading_everything(store: Store, write: Write) -> None:
    chance = random.Random(17)
    texts = [
        "".join(chance.choice(ALPHABET) + chance.choice(["", " ", " ", "  "]) for _ in range(chance.randrange(1, 9)))
        for _ in range(150)
    ]
    write(*([reply(text)] for text in texts))

    for words in {" ".join(chance.choices(ALPHABET, k=chance.randrange(1, 3))) for _ in range(60)}:
        query = words.replace('"', "")
        if not re.search(r"\w|🟩", query.replace("_", "x")):
            continue
        # Written without the pattern and the words of the search itself: a word ends where a letter of it does.
        spaced = r"\s+".join(re.escape(part) for part in query.casefold().split())
        letter = r"[a-zäöüß0-9_\u0980-\u09ff]"
        first, last = query.split()[0][0].casefold(), query.split()[-1][-1].casefold()
        before = f"(?<!{letter})" if re.match(letter, first) else ""
        after = f"(?!{letter})" if re.match(letter, last) else ""
        grep = re.compile(before + spaced + after)
        expected = [n for n, text in enumerate(texts) if grep.search(text.casefold())]
        assert indexes(find(store, f'"{query}"', limit=200)) == expected, query


def test_a_keeper_goes_on_after_an_error_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    called = threading.Semaphore(0)

    class Failing:
        def update(self, **_given: Any) -> bool:
            called.release()
            raise InfrastructureError("locked")

    monkeypatch.setattr(IndexKeeper, "SLICE_S", 0)
    monkeypatch.setattr(IndexKeeper, "FAILED_S", 0)
    keeper = IndexKeeper(lambda: cast("SearchIndex", Failing()))

    keeper.start()

    assert called.acquire(timeout=60)
    assert called.acquire(timeout=60)
    keeper.stop()


def test_a_search_reads_pages_of_the_index_by_their_key(
    sqlite_store: Store, samples: "Samples", planned: Callable[[Callable[[], object]], list[str]]
) -> None:
    run = samples.run(info=INFO)
    sqlite_store.bundles.insert(run, [entry(samples, run, 0, [reply("too warm")])])
    assert sqlite_store.search.index.update()
    steps = planned(lambda: find(sqlite_store, "warm"))
    assert any("SEARCH page USING INDEX" in step and "number=?" in step for step in steps)
    assert not [step for step in steps if step.startswith("SCAN search_pages")]
