"""Stored comparisons of two models over the API, and the addresses of the older viewer."""

from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.score import Score
from mesocosm.server.schemas.model_comparison import ModelComparisonDocument

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records

    from mesocosm.store import Store

ID = "cmp_20261121T120000Z_a1b2c3d4"


@pytest.fixture
def comparison(changing: "Store") -> "Store":
    """Two models on the word game, where the second one could not run another benchmark."""
    runs = {run.model: run for run in changing.runs.list(benchmark="word-game").items}
    sides = (("rg_b", "b", "builtin/oracle", 2.0), ("rg_a", "a", "builtin/random", 1.0))
    for group, side, model, at in sides:
        provider, _, name = model.partition("/")
        asked = {"provider": provider, "model": name, "base_url": "http://me:secret@127.0.0.1/api", "side": side}
        changing.groups.add(RunGroup(group, at, request=asked, comparison_id=ID))
        facts: dict[str, Any] = {"provider": provider, "model": name, "comparison_id": ID, "at": at}
        status = OutcomeStatus.SKIPPED if side == "a" else OutcomeStatus.SUCCEEDED
        done = Outcome(group, 0, "word-game", "words", status, run_id=runs[model].id, reason="done before", **facts)
        changing.groups.save_outcome(done)
    lacking = Outcome("rg_b", 1, "osworld", "osworld", OutcomeStatus.INCOMPATIBLE, reason="no docker", comparison_id=ID)
    changing.groups.save_outcome(lacking)
    return changing


def read(api: "ApiClient") -> ModelComparisonDocument:
    answer = api.get(f"/api/comparisons/{ID}")
    assert answer.status_code == 200, answer.text
    return ModelComparisonDocument.model_validate_json(answer.content)


@pytest.mark.usefixtures("comparison")
def test_a_comparison_names_both_models_the_first_one_first(writer: "ApiClient") -> None:
    found = read(writer)
    assert [(side.name, side.provider, side.model, side.group_id) for side in found.sides] == [
        ("a", "builtin", "random", "rg_a"),
        ("b", "builtin", "oracle", "rg_b"),
    ]
    assert "secret" not in found.model_dump_json()


@pytest.mark.usefixtures("comparison")
def test_a_benchmark_of_both_is_compared(writer: "ApiClient") -> None:
    row = read(writer).rows[0]
    assert row.a.score is not None
    assert row.b.score is not None
    assert row.delta == pytest.approx((row.b.score.value or 0) - (row.a.score.value or 0))
    assert (row.paired, row.n_a, row.n_b) == (True, 6, 6)
    assert row.winner in {"b", "tie"}
    # The reason of a skipped one says only that it was done before.
    assert row.a.reason == ""


@pytest.mark.usefixtures("comparison")
def test_a_missing_side_says_why(writer: "ApiClient") -> None:
    row = read(writer).rows[1]
    assert (row.benchmark, row.winner, row.delta) == ("osworld", None, None)
    assert (row.a.status, row.a.run_id) == (None, None)
    assert (row.b.status, row.b.reason, row.b.score) == (OutcomeStatus.INCOMPATIBLE, "no docker", None)


@pytest.mark.usefixtures("comparison")
def test_an_unknown_comparison_is_told(writer: "ApiClient") -> None:
    answer = writer.get("/api/comparisons/cmp_other")
    assert answer.status_code == 404
    assert "cmp_other" in answer.json()["detail"]


def test_runs_of_a_group_are_listed(writer: "ApiClient", changing: "Store", records: "Records") -> None:
    run = changing.runs.add(records.run(group_id="rg_mine"))
    found = writer.get("/api/runs", params={"group": "rg_mine"}).json()["items"]
    assert [(item["id"], item["group_id"]) for item in found] == [(run.id, "rg_mine")]


async def test_the_older_viewer_s_data_are_where_they_were(
    writer: "ApiClient", changing: "Store", records: "Records"
) -> None:
    run = changing.runs.add(records.run())
    await records.write(changing, run, [records.episode(run, scores=(Score("solved", 1.0),))])
    answer = writer.get("/api/viewer-data")
    assert answer.headers["Cache-Control"] == "no-store"
    assert run.id in {row["run_id"] for row in answer.json()["runs"]}


def test_the_older_viewer_s_health_is_a_word(writer: "ApiClient") -> None:
    answer = writer.get("/health")
    assert (answer.text, answer.headers["Cache-Control"]) == ("ok", "no-store")
