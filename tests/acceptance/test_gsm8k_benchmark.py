"""The benchmark gsm8k gives every recorded completion of two models the verdict of its publisher.

The data is no part of the project: the test is skipped where the folder `shared/data` does not lie beside it.
"""

import json
from pathlib import Path

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")


@needs_data
@pytest.mark.parametrize(
    ("file", "correct"), [("recorded_6b_finetuning.jsonl", 286), ("recorded_175b_finetuning.jsonl", 458)]
)
async def test_every_verdict_is_that_of_the_publisher(tmp_path: Path, file: str, correct: int) -> None:
    known = read_catalogue().find("gsm8k")
    (settings,) = settle([known.descriptor], {"data_path": str(DATA / "test.jsonl")}, [known.descriptor])
    store = open_store(tmp_path / "results.sqlite")
    model = ModelSettings(f"replay/{DATA / file}")
    named = reference(known, settings.parameters)
    spec = RunSpec(named, model, AgentSettings("chat"), Selection(), parallel=16)
    run = await session.run(spec, store)
    rows = {task.digest(): int(task.id) for task in open_benchmark(named).tasks(Selection())}
    verdicts = {rows[score.task]: score.value == 1.0 for score in store.episodes.score_rows(run.id)}
    store.close()
    (metric,) = run.metrics
    assert metric.n_scored == metric.n_planned == 1319
    assert metric.value is not None
    assert round(metric.value * 1319) == correct
    records = [json.loads(line) for line in (DATA / file).read_text(encoding="utf-8").splitlines()]
    assert verdicts == {record["row"]: record["is_correct"] for record in records}
