"""Review rounds and verdicts on both databases."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from sqlalchemy import func, select

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.review import AskedLabel, LabelOption, Round, Verdict, current
from mesocosm.store import Store
from mesocosm.store.reviews import RoundProgress, Superseded
from mesocosm.store.schema import review_claims, review_items, review_rounds, verdicts

ADA, BEN, CID = "user:1", "user:2", "user:3"


@pytest.fixture
async def played(store: Store, samples: Any) -> list[str]:
    """The ids of three episodes of a run."""
    run = samples.held(store)
    entries = [samples.entry(run.id, index) for index in range(3)]
    await samples.write(store, run.id, entries)
    store.leases.release(run.id, store.leases.owner())
    return [entry.episode.id for entry in entries]


def opened(store: Store, episodes: Sequence[str], reviews: int = 2) -> Round:
    """Return a new round."""
    return store.reviews.add(Round(id="", name="round 1", reviews=reviews), episodes)


def say(store: Store, episode: str, author: str, answer: Any = "right", **given: Any) -> Verdict:
    """Save a verdict."""
    return store.reviews.save(Verdict(episode_id=episode, author=author, author_name=author, answer=answer, **given))


def test_a_round_is_read_as_it_was_made(store: Store, played: list[str]) -> None:
    options = (LabelOption("misread", "Misread the question", "q"), LabelOption("slip", "Slip", "w"))
    made = Round(
        id="", name="ü\0", labels=(AskedLabel("cause", "choice", options=options),), guide={"right": "…"}, bar=0.5
    )

    found = store.reviews.add(made, played[::-1])

    assert store.reviews.get(found.id[:20]) == msgspec.structs.replace(found, name="ü\ufffd")
    assert [item.episode_id for item in store.reviews.items(found.id)] == played[::-1]
    assert [one.id for one in store.reviews.list(found.runs[0])] == [found.id]
    assert store.reviews.list("another") == ()


def test_a_round_of_nothing_is_refused(store: Store, played: list[str]) -> None:
    with pytest.raises(UsageError, match="no episode matches"):
        opened(store, [])
    with pytest.raises(UnknownName, match="episode gone was deleted"):
        opened(store, [*played, "gone"])
    assert store.reviews.list() == ()


def test_two_people_get_different_items_while_there_are_some(store: Store, played: list[str]) -> None:
    made = opened(store, played, reviews=1)

    assert [store.reviews.claim(made.id, author) for author in (ADA, BEN, CID)] == [1, 2, 3]
    assert store.reviews.claim(made.id, ADA) == 1
    assert store.reviews.claim(made.id, "user:4") is None


def test_each_person_judges_an_item_once_until_it_has_enough(store: Store, played: list[str]) -> None:
    made = opened(store, played[:1])
    for author in (ADA, BEN):
        assert store.reviews.claim(made.id, author) == 1
        say(store, played[0], author, round_id=made.id)
        assert store.reviews.claim(made.id, author) is None

    assert store.reviews.claim(made.id, CID) is None


def test_what_was_skipped_comes_last(store: Store, played: list[str]) -> None:
    made = opened(store, played[:2])
    assert store.reviews.claim(made.id, ADA) == 1
    store.reviews.skip(made.id, 1, ADA)

    assert store.reviews.claim(made.id, ADA) == 2
    say(store, played[1], ADA, round_id=made.id)
    assert store.reviews.claim(made.id, ADA) == 1


def test_an_abandoned_item_is_given_to_others(store: Store, played: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = opened(store, played[:1], reviews=1)
    with monkeypatch.context() as patched:
        patched.setattr("mesocosm.store.reviews.CLAIM_S", -1.0)
        assert store.reviews.claim(made.id, ADA) == 1

    assert store.reviews.claim(made.id, BEN) == 1


def test_a_closed_round_gives_no_item(store: Store, played: list[str]) -> None:
    made = opened(store, played)
    store.reviews.change(made.id, name="first", closed=True)
    closed_at = store.reviews.get(made.id).closed_at

    assert store.reviews.claim(made.id, ADA) is None
    store.reviews.change(made.id, closed=True)
    assert store.reviews.get(made.id).closed_at == closed_at
    store.reviews.change(made.id, closed=False)
    assert store.reviews.get(made.id).name == "first"
    assert store.reviews.claim(made.id, ADA) == 1


def test_a_later_verdict_replaces_and_the_earlier_stays(store: Store, played: list[str]) -> None:
    first = say(store, played[0], ADA, "right", labels={"a": True, "n": 2.5}, note="first\0")
    second = say(store, played[0], ADA, "wrong")
    other = say(store, played[0], BEN, "right")

    history = store.reviews.of_episode(played[0])

    assert [one.id for one in history] == [first.id, second.id, other.id]
    assert history[0].note == "first\ufffd"
    assert history[0].labels == {"a": True, "n": 2.5}
    assert [one.id for one in current(history)] == [second.id, other.id]
    assert store.reviews.of_run(first.run_id) == history


def test_a_withdrawn_verdict_says_nothing_and_the_item_comes_back(store: Store, played: list[str]) -> None:
    made = opened(store, played[:1])
    say(store, played[0], ADA, round_id=made.id)
    say(store, played[0], ADA, "", round_id=made.id, withdrawn=True)

    assert current(store.reviews.of_round(made.id)) == ()
    assert len(store.reviews.of_round(made.id)) == 2
    assert store.reviews.claim(made.id, ADA) == 1


def test_what_was_judged_in_another_window_is_not_overwritten(store: Store, played: list[str]) -> None:
    first = say(store, played[0], ADA)
    with pytest.raises(Superseded, match="in another window"):
        store.reviews.save(Verdict(episode_id=played[0], author=ADA, answer="wrong"), after="")

    saved = store.reviews.save(Verdict(episode_id=played[0], author=ADA, answer="wrong"), after=first.id)

    assert saved.replaces == first.id


def test_no_verdict_is_lost_when_many_save_at_once(store: Store, played: list[str]) -> None:
    made = opened(store, played, reviews=8)

    def work(number: int) -> int:
        done = 0
        while (item := store.reviews.claim(made.id, f"user:{number}")) is not None:
            say(store, played[item - 1], f"user:{number}", round_id=made.id)
            done += 1
        return done

    with ThreadPoolExecutor(8) as people:
        done = list(people.map(work, range(8)))

    assert sum(done) == 24
    assert len(current(store.reviews.of_round(made.id))) == 24


def test_one_person_in_many_windows_has_one_chain_of_verdicts(store: Store, played: list[str]) -> None:
    def work(_: int) -> bool:
        try:
            say(store, played[0], ADA)
        except Superseded:
            return False
        return True

    with ThreadPoolExecutor(6) as windows:
        saved = sum(windows.map(work, range(12)))

    history = store.reviews.of_episode(played[0])
    assert len(history) == saved
    assert len(current(history)) == 1


def test_a_verdict_on_a_deleted_episode_is_refused(store: Store) -> None:
    with pytest.raises(UnknownName, match="nothing was saved"):
        say(store, "gone", ADA)


def test_reviews_go_with_the_run(store: Store, played: list[str]) -> None:
    made = opened(store, played)
    store.reviews.claim(made.id, BEN)
    said = say(store, played[0], ADA, round_id=made.id)
    say(store, played[1], ADA)

    store.runs.delete(said.run_id)

    tables = (review_rounds, review_items, review_claims, verdicts)
    assert [store.database.scalar(select(func.count()).select_from(table)) for table in tables] == [0, 0, 0, 0]


def test_a_round_goes_with_its_verdicts_alone(store: Store, played: list[str]) -> None:
    made = opened(store, played)
    say(store, played[0], ADA, round_id=made.id)
    kept = say(store, played[0], ADA)

    store.reviews.delete(made.id)

    assert store.reviews.list() == ()
    assert store.reviews.of_episode(played[0]) == (kept,)


def test_progress_counts_what_holds(store: Store, played: list[str]) -> None:
    made, other = opened(store, played), opened(store, played)
    for author in (ADA, BEN):
        say(store, played[0], author, round_id=made.id)
    say(store, played[0], ADA, "wrong", round_id=made.id)
    say(store, played[0], CID, round_id=made.id, settles=True)
    say(store, played[1], BEN, round_id=made.id)
    say(store, played[2], BEN, round_id=made.id)
    say(store, played[2], BEN, "", round_id=made.id, withdrawn=True)
    say(store, played[1], BEN)

    found = store.reviews.progress([made.id, other.id])

    assert found == {
        made.id: RoundProgress(3, {2: 1, 1: 1}, ((BEN, BEN, 2), (ADA, ADA, 1))),
        other.id: RoundProgress(3),
    }
