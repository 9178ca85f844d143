"""Events are found in long traces: whatever they are spelled like, in short requests, past what is damaged."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import update

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName
from mesocosm.store import Store
from mesocosm.store.event_search import EventPage
from mesocosm.store.schema import event_chunks

if TYPE_CHECKING:
    from tests.store.conftest import Samples

SIZE = 5

PATIENCE = 60.0
"""Seconds that a request may take where a test is not about its time: the usual budget is short on a busy machine."""

Write = Callable[[list[Any]], str]


def find(store: Store, episode: str, **wanted: Any) -> EventPage:
    """Return what a request finds that has all the time it needs."""
    return store.traces.find(episode, budget_s=PATIENCE, **wanted)


@pytest.fixture
def write(store: Store, samples: "Samples") -> Write:
    """Return what stores an episode with these events (payload, or line as it stands), five to a chunk, two a step."""

    def line(place: int, event: Any) -> bytes:
        if isinstance(event, bytes):
            return event
        kind, payload = event if isinstance(event, tuple) else (Kind.LOG, event)
        return msgspec.json.encode(Event(place, place // 2, 0.5, kind, payload))

    def stored(events: list[Any]) -> str:
        run = samples.run()
        episode = samples.episode(run.id, events=len(events))
        chunks = []
        for number, first in enumerate(range(0, len(events), SIZE)):
            some = events[first : first + SIZE]
            raw = b"".join(line(first + place, event) + b"\n" for place, event in enumerate(some))
            last = first + len(some) - 1
            chunks.append(Chunk(number, first, last, first // 2, last // 2, raw))
        store.bundles.insert(run, [Entry(episode, chunks)])
        return episode.id

    return stored


def places(page: EventPage) -> list[int]:
    return [json.loads(line)["seq"] for line in page.lines]


def test_events_are_read_from_any_place(store: Store, write: Write) -> None:
    episode = write(list(range(23)))

    assert places(find(store, episode, first=7, limit=6)) == list(range(7, 13))
    assert find(store, episode, first=7, limit=6).next == 13
    assert find(store, episode, first=20, limit=6) == EventPage(
        tuple(find(store, episode, first=20, limit=3).lines), None, 3
    )
    assert find(store, episode, first=17, limit=6).next is None
    assert find(store, episode, first=99) == EventPage((), None, 0)


def test_events_are_read_backwards(store: Store, write: Write) -> None:
    episode = write(list(range(23)))

    page = find(store, episode, first=12, limit=6, backward=True)

    assert (places(page), page.next) == ([12, 11, 10, 9, 8, 7], 6)
    assert places(find(store, episode, first=10**6, limit=2, backward=True)) == [22, 21]
    assert find(store, episode, first=3, backward=True).next is None


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("say", "They SAY so"),
        ('say "hi"', 'they say "Hi" there'),
        ("two\nlines", {"text": "Two\nLines"}),
        ("back\\slash", "a Back\\Slash"),
        ("größe", "GRÖSSE und Größe"),
        ("straße", "STRASSE"),
        ("k", "\u212a"),
        ("100%_", "100%_"),
        ("\x1b[1m", "\x1b[1mbold"),
        ('"answer":42', {"answer": 42}),
        ("😀", "so 😀 happy"),
        ("a/b", "a/b"),
        ("", "anything"),
    ],
)
def test_text_is_found_as_people_see_it(store: Store, write: Write, text: str, payload: Any) -> None:
    episode = write([*["nothing here"] * 12, payload])

    assert places(find(store, episode, text=text, first=0 if text else 12)) == [12]


@pytest.mark.parametrize("text", ["seq", "step", '"at"', "log", "payload", "\\n", "hi there", "\\u001b", "x\\"])
def test_what_nobody_sees_is_not_found(store: Store, write: Write, text: str) -> None:
    episode = write(["one\ntwo", "hi\nthere", "\x1b", 'x"', None])

    assert find(store, episode, text=text).lines == ()


def test_kinds_step_and_text_must_all_fit(store: Store, write: Write) -> None:
    kinds = list(Kind)
    episode = write([(kinds[place % 4], f"word {place % 3}") for place in range(60)])

    found = places(find(store, episode, kinds=frozenset({kinds[1], kinds[2]}), text="WORD 2"))
    assert found == [place for place in range(60) if place % 4 in {1, 2} and place % 3 == 2]
    assert places(find(store, episode, step=9)) == [18, 19]
    assert places(find(store, episode, step=9, kinds=frozenset({kinds[3]}))) == [19]
    assert find(store, episode, kinds=frozenset()).lines == ()


def test_a_word_of_another_kind_inside_a_payload_does_not_count(store: Store, write: Write) -> None:
    episode = write([{"kind": "error", "payload": '"kind":"error"'}, (Kind.ERROR, None)])

    assert places(find(store, episode, kinds=frozenset({Kind.ERROR}))) == [1]


def test_lines_spelled_in_another_way_are_found(store: Store, write: Write) -> None:
    spaced = b'{"kind": "error", "seq": 0, "payload": {"text": "Gr\\u00f6\\u00DFe \\ud83d\\ude00"}, "at": 1, "step": 0}'
    episode = write([spaced, b"not JSON: hidden", "other"])

    assert find(store, episode, text="größe 😀", kinds=frozenset({Kind.ERROR})).lines == (spaced,)
    assert find(store, episode, text="HIDDEN").lines == (b"not JSON: hidden",)
    assert find(store, episode, step=0).lines[0] == spaced


def test_a_search_without_time_goes_on_until_all_is_seen(store: Store, write: Write) -> None:
    episode = write([f"word {place % 7}" for place in range(64)])
    found: list[int] = []
    position: int | None = 0
    requests = 0

    while position is not None:
        page = store.traces.find(episode, first=position, text="word 3", budget_s=0.0)
        assert page.scanned <= SIZE
        found += places(page)
        position = page.next
        requests += 1

    assert found == list(range(3, 64, 7))
    assert requests == 13


def test_a_damaged_stretch_is_named_and_the_rest_is_found(store: Store, write: Write) -> None:
    episode = write([f"word {place}" for place in range(15)])
    broken = update(event_chunks).where(event_chunks.c.episode_id == episode, event_chunks.c.seq == 1)
    store.database.write(lambda connection: connection.execute(broken.values(data=b"x")).rowcount)

    for backward, first in ((False, 0), (True, 14)):
        page = find(store, episode, first=first, text="word", backward=backward)
        assert sorted(places(page)) == [*range(5), *range(10, 15)]
        assert page.damaged == ((5, 9),)


def test_the_first_event_of_a_step_is_found(store: Store, write: Write) -> None:
    episode = write(list(range(23)))

    assert [store.traces.first_event_of_step(episode, step) for step in (0, 1, 7, 11, 12, -1)] == [
        0,
        2,
        14,
        22,
        None,
        None,
    ]


def test_an_unknown_episode_is_named(store: Store) -> None:
    for ask in (
        lambda: store.traces.find("nothing"),
        lambda: store.traces.find("nothing", first=5, backward=True),
        lambda: store.traces.first_event_of_step("nothing", 3),
        lambda: store.traces.messages("nothing", [[0, 1]], 5),
        lambda: store.episodes.neighbours("nothing"),
    ):
        with pytest.raises(UnknownName, match="no episode 'nothing'"):
            ask()


def conversation(turns: int) -> list[Any]:
    """Return two messages and three other events for each turn."""
    found: list[Any] = []
    for turn in range(turns):
        found += [(Kind.MESSAGE, {"index": 2 * turn + half, "content": f"m{2 * turn + half}"}) for half in (0, 1)]
        found += ["talk"] * 3
    return found


@pytest.mark.parametrize("turns", [1, 2, 9, 40])
def test_the_messages_of_a_call_are_found(store: Store, write: Write, turns: int) -> None:
    episode = write(conversation(turns))
    last = 2 * turns - 1

    for runs in ([[0, last]], [[0, 0], [last, last]], [[last // 2, last // 2 + 1]], [[0, 1], [0, 0]]):
        page = store.traces.messages(episode, runs, 5 * turns, budget_s=PATIENCE)
        expected = sorted({index for first, end in runs for index in range(first, end + 1)})
        assert [message["content"] for message in page.messages] == [f"m{index}" for index in expected]
        assert page.rest == ()


def test_messages_far_apart_are_found(store: Store, write: Write) -> None:
    quiet: list[Any] = ["talk"] * 70
    episode = write(
        [*conversation(1), *quiet, (Kind.MESSAGE, {"index": 2}), *quiet, (Kind.MESSAGE, {"index": 3}), *quiet]
    )

    for runs, expected in (([[1, 1], [3, 3]], [1, 3]), ([[2, 2]], [2])):
        page = store.traces.messages(episode, runs, 10**6, budget_s=PATIENCE)
        assert [message["index"] for message in page.messages] == expected


def test_many_messages_come_in_several_answers(store: Store, write: Write) -> None:
    episode = write(conversation(30))
    for given in ({"limit": 7}, {"budget_s": 0.0}):
        rest: Any = [[0, 3], [10, 59]]
        found: list[int] = []
        while rest:
            page = store.traces.messages(episode, rest, 150, **given)
            assert page.messages
            found += [message["index"] for message in page.messages]
            rest = page.rest
        assert sorted(found) == [*range(4), *range(10, 60)]
        assert len(found) == len(set(found))


def test_messages_that_are_not_there_are_left_out(store: Store, write: Write) -> None:
    odd: list[Any] = [(Kind.MESSAGE, {"index": "1"}), (Kind.MESSAGE, None), (Kind.MESSAGE, {"index": True})]
    episode = write([*conversation(3), *odd])

    page = store.traces.messages(episode, [[4, 10**15], [-1, 2], [3, 1]], 10**6, budget_s=PATIENCE)

    assert [message["index"] for message in page.messages] == [4, 5]
    assert page.rest == ()
