"""The published solutions of HumanEval pass their tests, all of them, and empty answers none.

The data is no part of the project: the test is skipped where the folder `shared/data` does not lie beside it.
"""

from pathlib import Path

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.store import open_store

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "humaneval"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")
confinable = pytest.mark.skipif(not available(), reason=available().reason)


@needs_data
@confinable
@pytest.mark.parametrize(("model", "passed"), [("builtin/oracle", 164), ("builtin/empty", 0)])
async def test_every_published_solution_passes_and_nothing_else_does(tmp_path: Path, model: str, passed: int) -> None:
    known = read_catalogue().find("humaneval")
    (settings,) = settle([known.descriptor], {"data_path": str(DATA)}, [known.descriptor])
    store = open_store(tmp_path / "results.sqlite")
    spec = RunSpec(
        reference(known, settings.parameters), ModelSettings(model), AgentSettings("chat"), Selection(), parallel=16
    )
    run = await session.run(spec, store)
    store.close()
    (metric,) = run.metrics
    assert metric.n_scored == metric.n_planned == 164
    assert metric.value is not None
    assert round(metric.value * 164) == passed
