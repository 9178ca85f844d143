"""Ways in which a model server can be away: each leaves the rest of a run owed, and going on repairs it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.turning_server import SHAPES, TurningServer

from mesocosm.core.backoff import Backoff
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Limits, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

WORLD = f"{Path(__file__).with_name('worlds.py')}:Brief"
EPISODES = 6


@pytest.fixture
def store(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[Store]:
    opened = open_store(put_empty_store(tmp_path))
    yield opened
    opened.close()


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_server_that_is_away_stops_the_run_which_says_why_and_can_be_continued(
    store: Store, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = Path(__file__).parents[1] / "http" / "loopback.pem"
    server = TurningServer(shape, '{"action": "left"}', 5, pem, monkeypatch)
    await server.start()
    spec = RunSpec(
        BenchmarkRef("python", WORLD),
        # Only what never answers needs little patience: a slow machine must be taken for nothing else.
        ModelSettings(f"openai/m@{server.url}", timeout_s=0.3 if shape == "silent" else 30.0),
        selection=Selection(count=EPISODES),
        limits=Limits(outage_seconds=0.01, retries=8),
        parallel=1,
    )
    settings = session.SessionOptions(backoff=Backoff(base=0.001))
    try:
        run = await session.run(spec, store, settings=settings)
        assert (run.status, run.counts.completed, run.counts.failed) == (RunStatus.STOPPED, 2, 0)
        assert run.counts.pending == EPISODES - 2
        assert SHAPES[shape] in run.error

        await server.heal()
        run = await session.resume(run.id, store, settings=settings)
    finally:
        await server.close()
    assert (run.status, run.counts.completed, run.counts.pending) == (RunStatus.FINISHED, EPISODES, 0)
    assert run.primary is not None
    assert (run.primary.value, run.primary.n_scored) == (2.0, EPISODES)
