"""Question, right answer, answer and reason of episodes in the store."""

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select, update

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import UsageError
from mesocosm.core.score import Score
from mesocosm.store import Store, open_store
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.schema import answers
from mesocosm.store.wrong_answers import WrongGroup

if TYPE_CHECKING:
    from tests.store.conftest import Samples

INFO = {"metrics": [{"name": "accuracy", "score": "accuracy", "primary": True}]}
TASKED = {"input": {"question": "1 + 1?"}, "target": "2", "reference": "see page 1"}


async def stored(store: Store, samples: "Samples", *given: dict[str, Any]) -> list[Episode]:
    """Store episodes of a new run, and return them as they are read."""
    run = samples.held(store, info=INFO)
    made = [samples.entry(run.id, number, **one) for number, one in enumerate(given)]
    await samples.write(store, run.id, made)
    return list(store.episodes.list(run.id).items)


def wrong(mistake: str, **given: Any) -> dict[str, Any]:
    return {"scores": (Score("accuracy", 0.0),), "mistake": mistake, "why": f"{mistake} here", **given}


async def test_what_was_asked_and_answered_is_read_as_it_was_written(store: Store, samples: "Samples") -> None:
    given = {**TASKED, "answer": [3, "x\0y"], "why": "it is not", "mistake": "Other", "behaviour": "looped"}
    (episode,) = await stored(store, samples, given)
    found = {name: getattr(episode, name) for name in given}
    assert found == given
    assert store.episodes.get(episode.id) == episode


async def test_an_episode_that_asks_nothing_has_no_row(store: Store, samples: "Samples") -> None:
    await stored(store, samples, {}, {"terminal_info": {"answer": "4", "label": "5"}})
    assert store.database.read(lambda connection: connection.scalar(select(func.count()).select_from(answers))) == 0


async def test_an_older_episode_says_it_in_its_info(store: Store, samples: "Samples") -> None:
    (episode,) = await stored(store, samples, {"terminal_info": {"answer": "4", "label": "5", "input": "2 + 3?"}})
    assert (episode.input, episode.target, episode.answer) == ("2 + 3?", "5", "4")


async def test_a_changed_target_is_found_by_its_checksum(store: Store, samples: "Samples") -> None:
    (episode,) = await stored(store, samples, TASKED)
    assert not store.verification.check_run(episode.run_id).damages
    changed = update(answers).where(answers.c.episode_id == episode.id).values(target='"3"')
    store.database.write(lambda connection: connection.execute(changed))
    (damage,) = store.verification.check_run(episode.run_id).damages
    assert damage.episode_id == episode.id


async def test_another_reason_is_no_damage(store: Store, samples: "Samples") -> None:
    (episode,) = await stored(store, samples, wrong("Other", **TASKED))
    episode.why = "a better sentence"
    store.episodes.save_assessments(episode.run_id, [episode])
    assert store.episodes.get(episode.id).why == "a better sentence"
    assert not store.verification.check_run(episode.run_id).damages


async def test_a_bundle_carries_them(store: Store, samples: "Samples", tmp_path: Any) -> None:
    given = await stored(store, samples, wrong("Other", **TASKED), {"terminal_info": {"answer": "4", "label": "5"}})
    run = store.runs.get(given[0].run_id)
    with closing(open_store(tmp_path / "other.sqlite")) as other:
        other.bundles.insert(run, store.bundles.entries(run.id))
        assert list(other.episodes.list(run.id).items) == given
        assert not other.verification.check_run(run.id).damages


async def test_deleting_a_run_deletes_them(store: Store, samples: "Samples") -> None:
    (episode,) = await stored(store, samples, TASKED)
    store.leases.release(episode.run_id, store.leases.owner())
    store.runs.delete(episode.run_id)
    assert store.database.read(lambda connection: connection.scalar(select(func.count()).select_from(answers))) == 0


async def test_wrong_answers_are_counted_by_kind(store: Store, samples: "Samples") -> None:
    found = await stored(
        store,
        samples,
        {"scores": (Score("accuracy", 1.0),)},
        wrong("Left out", behaviour="refused", labels={"level": "2"}),
        wrong("Other", labels={"level": "1"}),
        wrong("Left out", labels={"level": "1", "area": "x"}),
        {"scores": (Score("accuracy", 0.0),)},
    )
    groups = store.episodes.wrong_groups
    run_id = found[0].run_id
    assert groups(run_id, "mistake") == (
        WrongGroup("Left out", 2, 1),
        WrongGroup("Other", 1, 2),
        WrongGroup(None, 1, 4),
    )
    assert groups(run_id, "behaviour") == (WrongGroup(None, 3, 2), WrongGroup("refused", 1, 1))
    assert groups(run_id, "label:level") == (WrongGroup("1", 2, 2), WrongGroup("2", 1, 1), WrongGroup(None, 1, 4))
    with pytest.raises(UsageError, match="cannot be grouped by 'colour'"):
        groups(run_id, "colour")


async def test_episodes_are_filtered_by_mistake_and_behaviour(store: Store, samples: "Samples") -> None:
    found = await stored(store, samples, wrong("A", behaviour="empty"), wrong("B"), wrong("A"))
    run_id = found[0].run_id

    def places(**wanted: str) -> list[int]:
        chosen = EpisodeFilter(**wanted)  # type: ignore[arg-type]
        page = store.episodes.search(run_id, chosen)
        assert store.episodes.count(run_id, chosen) == (len(page.items), True)
        return [episode.index for episode in page.items]

    assert places(mistake="A") == [0, 2]
    assert places(mistake="A", behaviour="empty") == [0]
    assert places(mistake="'; DROP TABLE answers; --") == []


async def test_an_unfinished_episode_has_no_answer_yet(store: Store, samples: "Samples") -> None:
    (episode,) = await stored(store, samples, {**TASKED, "status": EpisodeStatus.RUNNING, "scores": ()})
    assert episode.input is None
