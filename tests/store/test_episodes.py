"""Episodes come back whole, are found, counted, scored."""

import math
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from mesocosm.core.episode import EpisodeKey, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure, UnknownName
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import Counts
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.schema import episodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.store.conftest import Samples


def failure(cause: Cause) -> Failure:
    return Failure(cause, Boundary.MODEL, "it broke\0", "detail ü", "stderr")


async def test_an_episode_comes_back_with_every_field(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entry = samples.entry(
        run.id,
        3,
        trial=2,
        seed=2**64 - 1,
        cluster="item 7",
        status=EpisodeStatus.FAILED,
        failure=failure(Cause.RATE_LIMITED),
        usage=Usage(2**40, 2, 3, 4, None, 5),
        retries=6,
        total_reward=-math.inf,
        terminal_info={"nested": [1, {"ü": None}]},
        scores=(Score("a", missing=Cause.RATE_LIMITED), Score("b", worst=True, explanation="why\n")),
    )

    await samples.write(store, run.id, [entry])

    assert store.episodes.get(entry.episode.id) == entry.episode
    assert store.episodes.list(run.id).items == (entry.episode,)


async def test_what_is_no_number_stays_that_on_both_dialects(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entry = samples.entry(run.id, total_reward=math.nan, scores=(Score("a", math.nan), Score("b", math.inf)))

    await samples.write(store, run.id, [entry])

    found = store.episodes.get(entry.episode.id)
    assert math.isnan(found.total_reward)
    assert found.scores == (Score("a", missing=Cause.VALUE_UNUSABLE), Score("b", math.inf))


async def test_of_two_scores_with_one_name_the_last_counts(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entry = samples.entry(run.id, scores=(Score("a", 1.0), Score("a", 2.0)))

    await samples.write(store, run.id, [entry])

    assert store.episodes.get(entry.episode.id).scores == (Score("a", 2.0),)


async def test_an_episode_is_found_by_prefix_and_by_its_place_in_the_plan(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entries = [samples.entry(run.id, index, id=f"{index}abc-def") for index in (5, 6)]
    await samples.write(store, run.id, entries)

    for reference, run_id in (
        ("6abc", ""),
        (f"{run.id}/6", ""),
        (f"{run.id[:20]}/6", ""),
        ("6", run.id),
        ("6a", run.id),
    ):
        assert store.episodes.get(reference, run_id=run_id).id == entries[1].episode.id


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("RUN/7", "the last one is 6"),
        (f"RUN/{2**63}", "the last one is 6"),
        ("nothing", "the newest one is 6abc"),
        ("6abd-def", "mean 6abc"),
    ],
)
async def test_an_unknown_episode_is_explained(store: Store, samples: "Samples", reference: str, hint: str) -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 6, id="6abc-def")])

    with pytest.raises(UnknownName, match=hint):
        store.episodes.get(reference.replace("RUN", run.id))


def test_the_first_episode_of_an_empty_run_is_explained(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())

    with pytest.raises(UnknownName, match="has none yet"):
        store.episodes.get(f"{run.id}/0")


async def test_finished_keys_leave_out_what_is_owed(store: Store, samples: "Samples") -> None:
    run, other = samples.held(store), samples.held(store)
    entries = [samples.entry(run.id, index, status=status) for index, status in enumerate(EpisodeStatus)]
    await samples.write(store, run.id, entries)
    await samples.write(store, other.id, [samples.entry(other.id, 50)])

    keys = store.episodes.finished_keys(run.id)

    finished = {"completed", "truncated", "timeout", "failed"}
    assert keys == {entry.episode.key for entry in entries if entry.episode.status in finished}
    assert all(isinstance(key, EpisodeKey) for key in keys)


async def test_failed_episodes_that_measure_nothing_are_owed_again(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    causes = (Cause.RATE_LIMITED, Cause.MALFORMED_ACTION, Cause.ENVIRONMENT_ERROR)
    failed = [
        samples.entry(run.id, index, status=EpisodeStatus.FAILED, failure=failure(cause))
        for index, cause in enumerate(causes)
    ]
    await samples.write(store, run.id, [*failed, samples.entry(run.id, 9)])

    assert store.episodes.drop_failed(run.id) == 2
    assert store.episodes.drop_failed(run.id) == 0

    assert store.episodes.finished_keys(run.id) == {failed[1].episode.key, samples.episode(run.id, 9).key}
    found = store.runs.get(run.id)
    assert found.counts == Counts(10, completed=1, failed=1, not_passed=1)
    assert found.usage == Usage(400, 40, 16, 8, 1.0, 4), "what the dropped ones used was spent"


async def test_score_rows_come_in_the_order_of_the_plan(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entries = [
        samples.entry(run.id, 2, scores=(Score("b", 1.5), Score("a", missing=Cause.GRADER_ERROR))),
        samples.entry(run.id, 0, cluster="c", trial=1, scores=(Score("a", worst=True),)),
        samples.entry(run.id, 1, status=EpisodeStatus.RUNNING, scores=(Score("a", 9.0),)),
    ]
    await samples.write(store, run.id, entries)

    found = list(store.episodes.score_rows(run.id))

    last, first = entries[0].episode.task_digest, entries[1].episode.task_digest
    assert found == [
        ScoreRow(first, "c", 1, "a", None, None, True),
        ScoreRow(last, "", 0, "a", None, "grader_error", False),
        ScoreRow(last, "", 0, "b", 1.5, None, False),
    ]
    assert all(isinstance(row, ScoreRow) and isinstance(row.worst, bool) for row in found)


async def test_scores_may_be_read_while_a_journal_writes(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, index) for index in range(5)])

    rows = store.episodes.score_rows(run.id)
    next(rows)
    await samples.write(store, run.id, [samples.entry(run.id, 9)])

    assert len(list(rows)) == 9


async def test_new_scores_replace_those_of_the_named_episodes(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entries = [samples.entry(run.id, index) for index in range(3)]
    await samples.write(store, run.id, entries)
    first, second, third = (entry.episode for entry in entries)

    store.episodes.save_scores(run.id, iter([(first.id, [Score("new", 3.0)]), (second.id, [])]))

    assert store.episodes.get(first.id).scores == (Score("new", 3.0),)
    assert store.episodes.get(second.id).scores == ()
    assert store.episodes.get(third.id).scores == third.scores


async def test_labels_that_come_with_scores_replace_those_of_their_name_alone(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entries = [samples.entry(run.id, index) for index in range(3)]
    await samples.write(store, run.id, entries)
    first, second, third = (entry.episode for entry in entries)

    def scanned(**words: str | None) -> list[dict[str, str]]:
        labels = {one.id: {"scan:why": words[name]} for one, name in ((first, "a"), (second, "b"))}
        store.episodes.save_scores(run.id, [(first.id, first.scores), (second.id, second.scores)], labels)
        return [dict(store.episodes.get(one.id).labels) for one in (first, second, third)]

    own = dict(first.labels)
    assert scanned(a="slip, or „misread“", b="=cmd()") == [
        {**own, "scan:why": "slip, or „misread“"},
        {**dict(second.labels), "scan:why": "=cmd()"},
        dict(third.labels),
    ]
    assert [one.id for one in store.episodes.search(run.id, EpisodeFilter(label="scan:why==cmd()")).items] == [
        second.id
    ]
    assert scanned(a=None, b=None) == [own, dict(second.labels), dict(third.labels)]
    assert store.episodes.get(first.id).scores == first.scores


async def test_scores_of_a_foreign_episode_change_nothing(store: Store, samples: "Samples") -> None:
    run, other = samples.held(store), samples.held(store)
    mine, foreign = samples.entry(run.id), samples.entry(other.id)
    await samples.write(store, run.id, [mine])
    await samples.write(store, other.id, [foreign])

    with pytest.raises(UnknownName, match="are not of run"):
        store.episodes.save_scores(run.id, [(mine.episode.id, []), (foreign.episode.id, [])])

    assert store.episodes.get(mine.episode.id).scores == mine.episode.scores


async def test_scores_are_kept_when_computing_new_ones_breaks_off(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entries = [samples.entry(run.id, index) for index in range(600)]
    await samples.write(store, run.id, entries)

    def scored() -> "Iterator[tuple[str, Sequence[Score]]]":
        for entry in entries[:-1]:
            yield entry.episode.id, []
        raise ValueError("the grader broke")

    with pytest.raises(ValueError, match="the grader broke"):
        store.episodes.save_scores(run.id, scored())

    assert store.episodes.get(entries[0].episode.id).scores == entries[0].episode.scores


async def test_means_cover_episodes_that_ended_in_the_ordinary_way(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    assert store.episodes.means(run.id) == (None, None)
    await samples.write(
        store,
        run.id,
        [
            samples.entry(run.id, 0, total_reward=1.0, steps=2),
            samples.entry(run.id, 1, total_reward=0.0, steps=5, status=EpisodeStatus.TRUNCATED),
            samples.entry(run.id, 2, total_reward=9.0, steps=9, status=EpisodeStatus.FAILED),
        ],
    )

    assert store.episodes.means(run.id) == (0.5, 3.5)


async def test_means_of_a_run_that_ended_are_kept_while_its_episodes_stay(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 0, total_reward=1.0, steps=4)])
    run.ended_at = 5.0
    store.runs.save(run)
    tampered = update(episodes).values(total_reward=9.0)
    store.database.write(lambda connection: connection.execute(tampered))
    assert store.episodes.means(run.id) == (1.0, 4.0)

    await samples.write(store, run.id, [samples.entry(run.id, 1, total_reward=1.0, steps=6)])

    assert store.episodes.means(run.id) == (5.0, 5.0)
    store.runs.save(run)
    store.database.write(lambda connection: connection.execute(tampered))
    assert store.episodes.means(run.id) == (5.0, 5.0)
