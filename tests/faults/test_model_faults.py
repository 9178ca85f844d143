"""A model server that fails half of the time: the run finishes, and what it cost stands in the traces."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Cause
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Limits, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.interop.replay import all_episodes
from mesocosm.store import Store, open_store
from mesocosm.testing.fault import (
    CLOSE,
    CUT,
    EMPTY_BODY,
    EMPTY_TEXT,
    GARBAGE,
    HANG,
    PASSING,
    SERVER_ERROR,
    Fault,
    FaultKind,
    sometimes,
)
from mesocosm.testing.model_server import ModelServer

WORLD = f"{Path(__file__).with_name('worlds.py')}:Brief"
EPISODES = 20
SLOW_DOWN = Fault(status=429, text="slow down", retry_after="0.02")
OVERLOADED = Fault(status=503, text="too many at once", retry_after="0.01")


@pytest.fixture
def store(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[Store]:
    opened = open_store(put_empty_store(tmp_path))
    yield opened
    opened.close()


@pytest.fixture(params=["openai", "ollama"])
def dialect(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


async def run_against(
    store: Store,
    dialect: str,
    faults: Iterable[Fault | None],
    *,
    retries: int = 50,
    parallel: int = 4,
    patience: float = 60.0,
    backoff: Backoff = Backoff(base=0.001),  # noqa: B008  (frozen)
) -> tuple[Run, ModelServer]:
    """Run against a server with faults; listings, which begin a run, do not fail."""
    async with ModelServer('{"action": "left"}', faults=faults) as server:
        url = server.openai_url if dialect == "openai" else server.url
        spec = RunSpec(
            BenchmarkRef("python", WORLD),
            ModelSettings(f"{dialect}/fake@{url}", timeout_s=patience),
            selection=Selection(count=EPISODES),
            limits=Limits(retries=retries),
            parallel=parallel,
        )
        run = await asyncio.wait_for(session.run(spec, store, settings=session.SessionOptions(backoff=backoff)), 120)
    return run, server


def retries(store: Store, episode: Episode) -> list[Event]:
    return [event for event in store.traces.events(episode.id) if event.kind is Kind.RETRY]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (SLOW_DOWN, Cause.RATE_LIMITED),
        (OVERLOADED, Cause.MODEL_UNAVAILABLE),
        (SERVER_ERROR, Cause.MODEL_UNAVAILABLE),
        (CLOSE, Cause.MODEL_UNAVAILABLE),
        (CUT, Cause.MODEL_UNAVAILABLE),
        (GARBAGE, Cause.MODEL_INVALID),
        (EMPTY_BODY, Cause.MODEL_INVALID),
        (HANG, Cause.MODEL_TIMEOUT),
    ],
    ids=lambda value: f"{value.kind} {value.status}" if isinstance(value, Fault) else None,
)
async def test_a_run_outlives_a_server_that_fails_every_other_time(
    store: Store, dialect: str, fault: Fault, cause: Cause
) -> None:
    # Only who waits for a server that hangs needs little patience: a slow machine must be taken for no other fault.
    patience = 0.25 if fault is HANG else 60.0
    run, server = await run_against(store, dialect, cycle([fault, None]), parallel=20, patience=patience)
    episodes = list(all_episodes(store, run.id))
    assert run.status is RunStatus.FINISHED
    assert {(episode.status, episode.total_reward) for episode in episodes} == {(EpisodeStatus.COMPLETED, 2.0)}
    told = [event.payload for episode in episodes for event in retries(store, episode)]
    answered = run.usage.calls
    assert answered == EPISODES * 2
    failed = server.served - answered
    # Every failed try is told. A lost connection may be mended below, where it is certain that nothing was answered;
    # and with little patience a slow machine has requests given up before the server has seen them.
    assert len(told) <= failed or fault is HANG
    assert len(told) >= failed or fault.kind is FaultKind.CLOSE
    causes = {payload["cause"] for payload in told}
    assert causes - ({Cause.MODEL_UNAVAILABLE} if fault is HANG else set()) == {cause}
    assert all(payload["wait_s"] >= 0 and payload["message"] and payload["try"] >= 1 for payload in told)
    assert [episode.retries for episode in episodes] == [len(retries(store, episode)) for episode in episodes]


async def test_a_run_outlives_a_server_that_fails_in_every_way(store: Store, dialect: str) -> None:
    faults = sometimes(0.5, seed=7, faults=[*PASSING, HANG, SLOW_DOWN, OVERLOADED])
    run, _ = await run_against(store, dialect, faults, parallel=20, patience=0.25)
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, EPISODES)
    causes = Counter(
        event.payload["cause"] for episode in all_episodes(store, run.id) for event in retries(store, episode)
    )
    assert causes.keys() >= {"rate_limited", "model_unavailable", "model_invalid", "model_timeout"}


async def test_a_wait_that_the_server_asks_for_is_kept_and_told(store: Store, dialect: str) -> None:
    run, _ = await run_against(store, dialect, [SLOW_DOWN], backoff=Backoff(base=30.0))
    (told,) = [event.payload for episode in all_episodes(store, run.id) for event in retries(store, episode)]
    assert (told["cause"], told["wait_s"], told["try"]) == ("rate_limited", 0.02, 1)
    assert "slow down" in told["message"]


async def test_the_number_of_retries_stands_beside_the_answer_they_led_to(store: Store, dialect: str) -> None:
    run, _ = await run_against(store, dialect, [SERVER_ERROR, SERVER_ERROR], parallel=1)
    first = next(iter(all_episodes(store, run.id)))
    call = next(event for event in store.traces.events(first.id) if event.kind is Kind.MODEL_CALL)
    assert (call.payload["retries"], first.retries) == (2, 2)
    assert [event.payload["try"] for event in retries(store, first)] == [1, 2]


async def test_a_server_that_stays_broken_stops_the_run_soon_with_its_own_words(store: Store, dialect: str) -> None:
    run, server = await run_against(store, dialect, cycle([SERVER_ERROR]), retries=2)
    assert (run.status, run.counts.done, run.counts.pending) == (RunStatus.STOPPED, 0, EPISODES)
    assert "all failed alike: model_unavailable" in run.error
    assert server.served < EPISODES * 3
    played = [episode for episode in all_episodes(store, run.id) if episode.failure is not None]
    assert len(played) >= 6
    for episode in played:
        assert episode.failure is not None
        assert episode.failure.cause is Cause.MODEL_UNAVAILABLE
        assert "the fake server failed on demand" in episode.failure.message
        assert not episode.valid


async def test_a_key_refused_in_the_middle_ends_the_run_with_the_rest_owed(store: Store, dialect: str) -> None:
    refused = Fault(status=401, text="this key has expired", code="invalid_api_key")
    run, server = await run_against(store, dialect, [*[None] * 11, *[refused] * 1000], parallel=1)
    assert (run.status, run.counts.completed, run.counts.pending) == (RunStatus.FAILED, 5, EPISODES - 5)
    assert "this key has expired" in run.error
    assert server.served == 12


async def test_answers_without_words_are_the_models_own_doing(store: Store, dialect: str) -> None:
    run, _ = await run_against(store, dialect, cycle([EMPTY_TEXT, None]), parallel=1)
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, EPISODES)
    # Asked once more each time: a decision of the agent, not a repeated call.
    assert run.usage.calls == EPISODES * 4
    for episode in all_episodes(store, run.id):
        assert episode.retries == 0
        assert {event.payload["cause"] for event in retries(store, episode)} == {"malformed_action"}


async def test_a_model_that_never_says_a_word_scores_worst(store: Store, dialect: str) -> None:
    run, _ = await run_against(store, dialect, cycle([EMPTY_TEXT]))
    assert run.counts.failed == EPISODES
    for episode in all_episodes(store, run.id):
        assert episode.failure is not None
        assert episode.failure.cause is Cause.MALFORMED_ACTION
        assert episode.valid
