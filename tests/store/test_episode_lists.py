"""Episodes of a run in every order and under every filter, against the same done in Python."""

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.entry import Entry
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure, UsageError
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, episode_lists, episode_query
from mesocosm.store.episode_lists import EPISODE_SORTS
from mesocosm.store.filters import EpisodeFilter

if TYPE_CHECKING:
    from tests.store.conftest import Samples

INFO = {
    "metrics": [
        {"name": "other", "score": "length"},
        {"name": "rate", "score": "accuracy", "primary": True, "threshold": 0.5},
    ]
}
SCORES = (
    Score("accuracy", 0.0),
    Score("accuracy", 0.5),
    Score("accuracy", 1.0),
    Score("accuracy", worst=True),
    Score("accuracy", missing=Cause.VALUE_MISSING),
    Score("accuracy", float("nan")),
)


@pytest.fixture(scope="module")
def run_id(shared_store: Store, samples: "Samples") -> str:
    """Return a stored run of 80 episodes with ties and gaps, and of two trials per task."""
    chance = random.Random(9)
    run = samples.run(info=INFO)
    made: list[Episode] = []
    for number in range(80):
        status = chance.choice([EpisodeStatus.COMPLETED] * 4 + [EpisodeStatus.FAILED, EpisodeStatus.TRUNCATED])
        cause = chance.choice([Cause.BUDGET, Cause.MODEL_INVALID])
        failure = Failure(cause, Boundary.MODEL, 'said "No" 50%') if status is EpisodeStatus.FAILED else None
        found = chance.choice(SCORES)
        made.append(
            samples.episode(
                run.id,
                number // 2,
                trial=number % 2,
                status=status,
                failure=failure,
                task_id=chance.choice(["Plain", "under_score", "per%cent", "Ünï"]),
                started_at=float(chance.randrange(30)),
                ended_at=chance.choice([None, 40.0, 50.0]),
                steps=chance.randrange(4),
                total_reward=chance.choice([0.0, 1.0, chance.random(), float("nan")]),
                terminal_info={"answer": chance.choice(["forty\ntwo", "none"])},
                usage=Usage(
                    chance.randrange(5), chance.randrange(5), 0, 0, chance.choice([None, 0.0, chance.random()])
                ),
                scores=(found, Score("length", 3.0)) if number % 9 else (Score("length", 3.0),),
            )
        )
    chance.shuffle(made)
    shared_store.bundles.insert(run, [Entry(episode, []) for episode in made])
    other = samples.run()
    shared_store.bundles.insert(other, [Entry(samples.episode(other.id, number), []) for number in range(5)])
    return run.id


@pytest.fixture(params=["few", "along"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take each of the ways of finding what fits: sorting few candidates, looking along the order."""
    monkeypatch.setattr(episode_lists, "_WINDOW", 13)
    monkeypatch.setattr(episode_lists, "BUDGET", 60.0)
    if request.param == "along":
        monkeypatch.setattr(episode_query, "FEW", 0)


def score(episode: Episode) -> float | None:
    found = next((score for score in episode.scores if score.name == "accuracy"), None)
    return None if found is None else found.value


def known(value: float) -> float | None:
    return value if value == value else None


VALUES: dict[str, Callable[[Episode], Any]] = {
    "position": lambda episode: episode.index,
    "score": score,
    "reward": lambda episode: known(episode.total_reward),
    "steps": lambda episode: episode.steps,
    "tokens": lambda episode: episode.usage.total,
    "cost": lambda episode: episode.usage.cost_usd,
    "duration": lambda episode: None if episode.ended_at is None else episode.ended_at - episode.started_at,
    "started_at": lambda episode: episode.started_at,
}


def place(episode: Episode) -> tuple[Any, ...]:
    return (episode.index, episode.task_digest, episode.trial)


def stored(store: Store, run_id: str) -> list[Episode]:
    return list(store.episodes.list(run_id).items)


def ordered(episodes: list[Episode], sort: str) -> list[str]:
    """Return ids as a listing must have them."""
    value, down = VALUES[sort.removeprefix("-")], sort[0] == "-"
    ids = (lambda e: (e.index, e.task_digest, e.trial)) if sort.endswith("position") else (lambda e: (e.index, e.id))
    present = sorted((e for e in episodes if value(e) is not None), key=lambda e: (value(e), *ids(e)), reverse=down)
    absent = sorted((e for e in episodes if value(e) is None), key=ids, reverse=down)
    return [episode.id for episode in (*present, *absent)]


def pages(store: Store, run_id: str, wanted: EpisodeFilter | None, sort: str, limit: int) -> Iterator[Episode]:
    cursor = None
    while True:
        page = store.episodes.search(run_id, wanted, sort, cursor, limit)
        yield from page.items
        cursor = page.cursor
        assert len(page.items) == limit or page.partial or cursor is None
        if cursor is None:
            return


SORTS = [direction + sort for sort in EPISODE_SORTS for direction in ("", "-")]


@pytest.mark.usefixtures("route")
def test_every_order_is_that_of_python(shared_store: Store, run_id: str) -> None:
    every = stored(shared_store, run_id)
    failed = EpisodeFilter(statuses=(EpisodeStatus.FAILED, EpisodeStatus.TRUNCATED))
    some = [episode for episode in every if episode.status != "completed"]

    for sort in SORTS:
        for limit in (7, 80):
            assert [episode.id for episode in pages(shared_store, run_id, None, sort, limit)] == ordered(every, sort)
            assert [episode.id for episode in pages(shared_store, run_id, failed, sort, limit)] == ordered(some, sort)


def has(word: str) -> Callable[[Episode], bool]:
    def fits(episode: Episode) -> bool:
        message = "" if episode.failure is None else episode.failure.message
        return word in "\n".join((episode.task_id, message, str(episode.terminal_info["answer"]))).lower()

    return fits


def outcome(episode: Episode) -> str:
    found = next((score for score in episode.scores if score.name == "accuracy"), None)
    if found is not None and found.value is not None:
        return "pass" if found.value > 0.5 else "fail"
    return "worst" if found is not None and found.worst else "missing"


COMPLETED, FAILED = EpisodeStatus.COMPLETED, EpisodeStatus.FAILED
FITS: list[tuple[EpisodeFilter, Callable[[Episode], bool]]] = [
    (EpisodeFilter(statuses=(COMPLETED,)), lambda e: e.status == COMPLETED),
    (EpisodeFilter(statuses=(COMPLETED, FAILED)), lambda e: e.status != "truncated"),
    (EpisodeFilter(statuses=(FAILED,)), lambda e: e.status == FAILED),
    (EpisodeFilter(causes=("token_budget_exceeded",)), lambda e: bool(e.failure and e.failure.cause is Cause.BUDGET)),
    (EpisodeFilter(causes=("nothing\0", "%")), lambda e: False),
    (EpisodeFilter(outcome="pass"), lambda e: outcome(e) == "pass"),
    (EpisodeFilter(outcome="fail"), lambda e: outcome(e) in {"fail", "worst"}),
    (EpisodeFilter(outcome="worst"), lambda e: outcome(e) == "worst"),
    (EpisodeFilter(outcome="missing"), lambda e: outcome(e) == "missing"),
    (EpisodeFilter(outcome="scored"), lambda e: score(e) is not None),
    (EpisodeFilter(score_low=0.5), lambda e: (score(e) or 0.0) >= 0.5),
    (EpisodeFilter(score_low=0.5, score_high=0.5), lambda e: score(e) == 0.5),
    (
        EpisodeFilter(statuses=(FAILED,), outcome="fail"),
        lambda e: e.status == FAILED and outcome(e) in {"fail", "worst"},
    ),
    (EpisodeFilter(statuses=(FAILED,), score_high=0.0, text="50%"), lambda e: e.status == FAILED and score(e) == 0.0),
    (EpisodeFilter(text="PLAIN"), has("plain")),
    (EpisodeFilter(text="r_s"), has("r_s")),
    (EpisodeFilter(text="r%c"), has("r%c")),
    (EpisodeFilter(text="Ünï"), has("ünï")),
    (EpisodeFilter(text='said "no"'), has('said "no"')),
    (EpisodeFilter(text="forty\ntwo"), has("forty\ntwo")),
    (EpisodeFilter(text="\\n"), lambda e: False),
    (EpisodeFilter(text="\0"), lambda e: False),
    (EpisodeFilter(task="unknown"), lambda e: False),
]


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("sort", ["position", "-score"])
def test_filters_leave_what_python_leaves(shared_store: Store, run_id: str, sort: str) -> None:
    every = stored(shared_store, run_id)

    for wanted, fits in FITS:
        expected = ordered([episode for episode in every if fits(episode)], sort)
        assert [episode.id for episode in pages(shared_store, run_id, wanted, sort, 12)] == expected, wanted
        assert shared_store.episodes.count(run_id, wanted) == (len(expected), True), wanted


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("wanted", [None, EpisodeFilter(statuses=(FAILED,)), EpisodeFilter(text="plain")])
def test_neighbours_are_those_of_the_listing(shared_store: Store, run_id: str, wanted: EpisodeFilter | None) -> None:
    for sort in SORTS:
        listed = [episode.id for episode in pages(shared_store, run_id, wanted, sort, 200)]
        for number in (0, len(listed) // 2, len(listed) - 1):
            before = listed[number - 1] if number else None
            after = listed[number + 1] if number + 1 < len(listed) else None
            assert shared_store.episodes.neighbours(listed[number], wanted, sort) == (before, after), sort


def test_an_episode_that_does_not_fit_has_neighbours_that_do(shared_store: Store, run_id: str) -> None:
    fits = [episode.status == FAILED for episode in stored(shared_store, run_id)]
    ids = [episode.id for episode in stored(shared_store, run_id)]
    here = next(number for number in range(30, 80) if not fits[number])

    before, after = shared_store.episodes.neighbours(ids[here], EpisodeFilter(statuses=(FAILED,)))

    assert before == max((number, ids[number]) for number in range(here) if fits[number])[1]
    assert after == min((number, ids[number]) for number in range(here, 80) if fits[number])[1]


def test_a_page_that_took_its_time_tells_where_to_go_on(
    shared_store: Store, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_lists, "_WINDOW", 10)
    monkeypatch.setattr(episode_lists, "BUDGET", -1.0)
    wanted = EpisodeFilter(text="plain")
    expected = ordered([episode for episode in stored(shared_store, run_id) if has("plain")(episode)], "-reward")

    first = shared_store.episodes.search(run_id, wanted, "-reward")
    assert first.partial
    assert len(first.items) <= 10
    assert [episode.id for episode in pages(shared_store, run_id, wanted, "-reward", 200)] == expected
    assert shared_store.episodes.count(run_id, wanted)[1] is False
    assert shared_store.episodes.neighbours(stored(shared_store, run_id)[0].id, EpisodeFilter(text="nowhere")) == (
        None,
        None,
    )


def test_counting_ends_where_it_was_told_to(shared_store: Store, run_id: str) -> None:
    assert shared_store.episodes.count(run_id, most=80) == (80, True)
    assert shared_store.episodes.count(run_id, most=79) == (79, False)
    assert shared_store.episodes.count(run_id, EpisodeFilter(text="n"), most=1) == (1, False)
    assert shared_store.episodes.count("unknown") == (0, True)


def test_episodes_are_found_by_place_and_by_task(shared_store: Store, run_id: str) -> None:
    every = stored(shared_store, run_id)

    assert list(shared_store.episodes.at(run_id, 10, 5)) == every[20:30]
    assert shared_store.episodes.at(run_id, 40, 5) == ()
    assert [
        e.id for e in pages(shared_store, run_id, EpisodeFilter(task=every[0].task_digest), "-steps", 1)
    ] == ordered(every[:2], "-steps")


@pytest.mark.parametrize("sort", ["position", "-duration", "cost"])
async def test_episodes_added_while_paging_move_nothing(store: Store, samples: "Samples", sort: str) -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 2 * number) for number in range(10)])
    before = store.episodes.search(run.id, sort=sort, limit=4)
    listed = [episode.id for episode in store.episodes.search(run.id, sort=sort).items]
    await samples.write(store, run.id, [samples.entry(run.id, 2 * number + 1, ended_at=None) for number in range(10)])

    rest = store.episodes.search(run.id, sort=sort, cursor=before.cursor).items
    seen = [episode.id for episode in (*before.items, *rest)]
    assert [episode_id for episode_id in seen if episode_id in listed] == listed


async def test_the_score_that_ranks_is_sorted_by_however_it_came(store: Store, samples: "Samples") -> None:
    run = samples.held(store, info=INFO)
    entries = [samples.entry(run.id, n, scores=(Score("accuracy", n / 10), Score("length", -n))) for n in range(5)]
    running = samples.entry(run.id, 5, status=EpisodeStatus.RUNNING, scores=())
    await samples.write(store, run.id, [*entries, running])
    assert [e.index for e in store.episodes.search(run.id, sort="-score").items] == [4, 3, 2, 1, 0, 5]
    assert store.episodes.count(run.id, EpisodeFilter(outcome="missing")) == (0, True)

    new = [(entry.episode.id, [Score("accuracy", -entry.episode.index)]) for entry in entries[:4]]
    store.episodes.save_scores(run.id, [*new, (entries[4].episode.id, [Score("accuracy", worst=True)])])
    assert [e.index for e in store.episodes.search(run.id, sort="-score").items][:4] == [0, 1, 2, 3]
    assert [e.index for e in store.episodes.search(run.id, EpisodeFilter(outcome="worst")).items] == [4]


@pytest.mark.parametrize(("names", "expected"), [(("a",), (1, 0)), (("a", "b"), (0, 0)), ((), (0, 0))])
async def test_without_a_declared_metric_an_only_score_ranks(
    store: Store, samples: "Samples", names: tuple[str, ...], expected: tuple[int, int]
) -> None:
    run = samples.held(store, info={"metrics": "odd"})
    await samples.write(store, run.id, [samples.entry(run.id, scores=tuple(Score(name, 2.0) for name in names))])

    counts = [store.episodes.count(run.id, EpisodeFilter(outcome=word))[0] for word in ("pass", "missing")]
    assert tuple(counts) == expected


def test_orders_and_cursors_of_another_listing_are_refused(shared_store: Store, run_id: str) -> None:
    with pytest.raises(
        UsageError, match=r"episodes cannot be sorted by 'colour'; choose one of position, score, reward"
    ):
        shared_store.episodes.search(run_id, sort="colour")
    cursor = shared_store.episodes.search(run_id, sort="steps", limit=1).cursor
    with pytest.raises(UsageError, match="not of this listing"):
        shared_store.episodes.search(run_id, sort="-steps", cursor=cursor)
    with pytest.raises(UsageError, match="not of this listing"):
        shared_store.episodes.list(run_id, cursor=shared_store.episodes.search(run_id, limit=1).cursor)


def test_scores_of_listed_episodes_come_with_them(shared_store: Store, run_id: str) -> None:
    every = {episode.id: episode for episode in stored(shared_store, run_id)}

    for episode in shared_store.episodes.search(run_id, sort="-tokens").items:
        assert episode.scores == every[episode.id].scores
        assert episode.status in FINISHED


def test_causes_of_failures_are_counted_in_their_index_alone(
    sqlite_store: Store, samples: "Samples", planned: Callable[[Callable[[], object]], list[str]]
) -> None:
    run = samples.run()
    failure = Failure(Cause.BUDGET, Boundary.MODEL, "spent")
    failed = [
        samples.episode(run.id, number, status=EpisodeStatus.FAILED, failure=failure if number else None, scores=())
        for number in range(3)
    ]
    sqlite_store.bundles.insert(run, [Entry(episode, []) for episode in failed])

    assert any(
        "COVERING INDEX ix_episodes_cause" in step for step in planned(lambda: sqlite_store.episodes.failures(run.id))
    )
    ((cause, count, first),) = sqlite_store.episodes.failures(run.id)
    assert (cause, count, first.index) == (Cause.BUDGET, 2, 1)
