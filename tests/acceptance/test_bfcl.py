"""Recorded calls of two models get, item by item, the verdicts of the leaderboard's own checker.

The data is no part of the project: the test is skipped where the folder `shared/data` does not lie beside it.
"""

import json
from pathlib import Path

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "bfcl"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")

KEYED = ["simple_python", "multiple", "parallel", "parallel_multiple"]


async def run(store: Store, model: str, categories: list[str]) -> Run:
    known = read_catalogue().find("bfcl")
    (settings,) = settle([known.descriptor], {"data_path": str(DATA), "categories": categories}, [known.descriptor])
    spec = RunSpec(
        reference(known, settings.parameters), ModelSettings(model), AgentSettings("chat"), Selection(), parallel=16
    )
    return await session.run(spec, store)


def verdicts(store: Store, run: Run) -> dict[str, bool]:
    episodes = store.episodes.list(run.id, limit=1000).items
    scores = {episode.task_id: {score.name: score.value for score in episode.scores} for episode in episodes}
    assert [name for name, values in scores.items() if values["score_official"] != values["score"]] == []
    return {name: values["score"] == 1.0 for name, values in scores.items()}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("gpt-4o-2024-05-13-FC.jsonl", [0.88, 0.905, 0.9, 0.83]),
        ("command-r-plus-FC.jsonl", [0.835, 0.875, 0.81, 0.715]),
    ],
)
async def test_every_verdict_equals_that_of_the_official_checker(
    tmp_path: Path, file: str, expected: list[float]
) -> None:
    recorded = DATA / "recorded" / file
    valid = {row["id"]: row["valid"] for row in map(json.loads, recorded.read_text(encoding="utf-8").splitlines())}
    store = open_store(tmp_path / "results.sqlite")
    done = await run(store, f"replay/{recorded}", KEYED)
    found = verdicts(store, done)
    store.close()
    assert len(found) == 1000
    assert [name for name, verdict in found.items() if verdict != valid[name]] == []
    values = {metric.name: metric.value for metric in done.metrics}
    assert [values[f"accuracy_{name}"] for name in KEYED] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "score", "calls", "irrelevance"),
    [("builtin/oracle", 1.0, 1.0, 1.0), ("builtin/empty", 240 / 1240, 0.0, 1.0)],
)
async def test_ceiling_and_floor_of_the_published_data(
    tmp_path: Path, model: str, score: float, calls: float, irrelevance: float
) -> None:
    store = open_store(tmp_path / "results.sqlite")
    done = await run(store, model, [*KEYED, "irrelevance"])
    store.close()
    values = {metric.name: metric.value for metric in done.metrics}
    assert values["score"] == pytest.approx(score)
    assert (values["accuracy_calls"], values["accuracy_irrelevance"]) == (calls, irrelevance)
