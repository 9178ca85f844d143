"""Lists of runs, single runs, and what can be drawn of them."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.cli.local import local, local_spec
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Counts, Limits, RunSpec, RunStatus, Selection
from mesocosm.core.score import Score
from mesocosm.server.runs.commands import repeat_command
from mesocosm.server.schemas.run import RunDetail, RunPage, RunSeriesDocument
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records


def listed(client: "ApiClient", **query: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/runs", params=query)
    assert answer.status_code == 200, answer.text
    return RunPage.model_validate_json(answer.content).model_dump()["items"]  # type: ignore[no-any-return]


def test_runs_are_listed_newest_first(client: "ApiClient") -> None:
    items = listed(client)
    assert len(items) == 3
    assert [item["created_at"] for item in items] == sorted((item["created_at"] for item in items), reverse=True)
    assert items[0]["counts"]["done"] == 2


def test_pages_follow_each_other_without_gap_or_repetition(client: "ApiClient") -> None:
    seen, cursor = [], None
    while True:
        query = {"limit": 1, "sort": "score", **({"cursor": cursor} if cursor else {})}
        page = client.get("/api/runs", params=query).json()
        seen += [item["id"] for item in page["items"]]
        assert page["total"] == 3
        assert page["total_exact"]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 3


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"benchmark": "word-game"}, 2),
        ({"benchmark": ["word-game", "grid-world"], "model": "builtin/random"}, 2),
        ({"model": "builtin/oracle"}, 1),
        ({"agent": "loop", "kind": "environment", "state": "finished"}, 3),
        ({"state": ["running", "interrupted"]}, 0),
        ({"q": "GRID random"}, 1),
        ({"q": "grid oracle"}, 0),
        ({"tag": "none"}, 0),
    ],
)
def test_runs_are_filtered(client: "ApiClient", query: dict[str, Any], count: int) -> None:
    answer = client.get("/api/runs", params=query).json()
    assert (len(answer["items"]), answer["total"]) == (count, count)


def test_no_run_is_set_against_another_without_a_comparison(client: "ApiClient") -> None:
    (run, *_) = listed(client, benchmark="word-game")
    assert not {"high_score", "delta", "best", "rank"} & run.keys()
    assert client.get("/api/runs", params={"sort": "delta"}).status_code == 422


async def test_a_run_whose_process_is_gone_is_interrupted(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    gone = records.run(status=RunStatus.RUNNING, metrics=(), ended_at=None, created_at=time.time() - 3600)
    here = records.run(status=RunStatus.RUNNING, metrics=(), ended_at=None)
    changing.runs.add(gone)
    for state, ids in (("interrupted", [gone.id]), ("running", []), ("pending", [])):
        assert [item["id"] for item in listed(writer, state=state)] == ids
    assert len(listed(writer, state=["finished", "interrupted"])) == 4
    changing.runs.add(here)
    changing.leases.take(here.id, changing.leases.owner())
    assert [item["id"] for item in listed(writer, state="interrupted")] == [gone.id]
    assert [item["id"] for item in listed(writer, state="running")] == [here.id]
    assert {item["id"] for item in listed(writer, state=["running", "interrupted"])} == {gone.id, here.id}
    states = {item["value"]: item["count"] for item in writer.get("/api/runs/facets").json()["state"]}
    assert states == {"finished": 3, "running": 1, "interrupted": 1}
    detail = writer.get(f"/api/runs/{gone.id}").json()
    assert detail["state"] == "interrupted"
    assert f"run resume {gone.id}" in detail["commands"]["resume"]
    changing.leases.release(here.id, changing.leases.owner())


async def test_a_run_that_goes_on_again_shows_what_is_stored_so_far_and_not_the_score_of_its_stop(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    run = records.run(status=RunStatus.RUNNING, ended_at=None)
    run.counts, run.provenance = msgspec.structs.replace(run.counts, planned=4), {"session_at": time.time()}
    episodes = [records.episode(run, index=index, scores=(Score("solved", index % 2),)) for index in range(2)]
    await records.write(changing, run, episodes)
    changing.leases.take(run.id, changing.leases.owner())
    listed_ = next(item for item in listed(writer) if item["id"] == run.id)
    detail = writer.get(f"/api/runs/{run.id}").json()
    for document in (listed_, detail):
        assert (document["primary"]["value"], document["primary"]["n_scored"]) == (0.5, 2)


async def test_pauses_between_the_sessions_of_a_run_are_not_in_its_time(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    ended = records.run(started_at=1_000.0, ended_at=1_782.0, provenance={"worked_s": 4.5})
    gone = records.run(status=RunStatus.RUNNING, started_at=1_000.0, ended_at=None)
    gone.provenance = {"worked_s": 4.5, "session_at": time.time() - 100}
    await records.write(changing, ended, [])
    await records.write(changing, gone, [])
    assert writer.get(f"/api/runs/{ended.id}").json()["duration_s"] == 4.5
    assert [item["duration_s"] for item in listed(writer) if item["id"] == ended.id] == [4.5]
    assert 90 < writer.get(f"/api/runs/{gone.id}").json()["duration_s"] < 4_000


def test_facets_count_the_values_of_every_filter(client: "ApiClient") -> None:
    facets = client.get("/api/runs/facets").json()
    assert facets["benchmark"] == [{"value": "word-game", "count": 2}, {"value": "grid-world", "count": 1}]
    assert facets["tag"] == []


def test_a_run_is_found_by_the_beginning_of_its_id(client: "ApiClient", run_id: str) -> None:
    detail = RunDetail.model_validate_json(client.get(f"/api/runs/{run_id[:-2]}").content)
    assert detail.id == run_id
    assert detail.primary is not None
    assert detail.primary in detail.metrics
    assert detail.mean_steps is not None
    assert detail.info["metrics"]
    assert detail.provenance["command"]


def test_an_unknown_run_is_told_with_what_there_is(client: "ApiClient") -> None:
    answer = client.get("/api/runs/nothing-like-it")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"
    assert "nothing-like-it" in answer.json()["detail"]


def test_the_series_of_a_run_add_up(client: "ApiClient", run_id: str) -> None:
    series = RunSeriesDocument.model_validate_json(client.get(f"/api/runs/{run_id}/series").content)
    assert series.score == "goal_rate"
    assert series.histogram is not None
    assert sum(series.histogram.counts) == 2
    assert sum(place.n for place in series.by_position) == sum(slot.episodes for slot in series.over_time) == 2
    assert (series.cumulative, series.contrasts) == ([], [])
    settled = RunSeriesDocument.model_validate_json(client.get(f"/api/runs/{run_id}/series?curves=true").content)
    assert settled.cumulative[-1].n == 2


async def test_failures_are_grouped_by_cause(writer: "ApiClient", changing: Store, records: "Records") -> None:
    from mesocosm.core.episode import EpisodeStatus
    from mesocosm.core.failure import Boundary, Cause, Failure

    run = records.run(counts=Counts(planned=2, failed=2))
    failures = [
        Failure(Cause.MODEL_TIMEOUT, Boundary.MODEL, "no answer from http://user:sesame-open@host/api"),
        Failure(Cause.MODEL_TIMEOUT, Boundary.MODEL, "again"),
    ]
    episodes = [
        records.episode(run, index=index, status=EpisodeStatus.FAILED, failure=failure, scores=())
        for index, failure in enumerate(failures)
    ]
    await records.write(changing, run, episodes)
    answer = writer.get(f"/api/runs/{run.id}")
    (group,) = answer.json()["failures"]
    assert (group["cause"], group["count"], group["valid"]) == ("model_timeout", 2, False)
    assert group["episode_id"] == episodes[0].id
    assert "--retry-failed" in answer.json()["commands"]["resume"]
    assert "sesame" not in answer.text


async def test_passwords_in_urls_are_shown_nowhere(writer: "ApiClient", changing: Store, records: "Records") -> None:
    secret = "postgresql://me:opensesame@host/db"
    spec = RunSpec(BenchmarkRef("environment", "/m.json", {"env_url": secret}), ModelSettings(f"openai/m@{secret}"))
    run = records.run(
        spec=spec,
        model=f"openai/m@{secret}",
        error=f"cannot reach {secret}",
        warnings=(f"slow: {secret}",),
        provenance={"command": ["mesocosm", f"--database-url={secret}"]},
        info={**METRICS, "about": {secret: [secret]}},
    )
    await records.write(changing, run, [records.episode(run)])
    for path in ("/api/runs", f"/api/runs/{run.id}"):
        text = writer.get(path).text
        assert "opensesame" not in text
        assert "postgresql://me:[redacted]@host/db" in text


METRICS: dict[str, Any] = {"metrics": [{"name": "solved", "score": "solved", "primary": True}]}

SPECS = [
    RunSpec(
        BenchmarkRef("environment", "/p/b.json", {"explicit_env_url": False, "env_url": "http://localhost:8765"}),
        ModelSettings("builtin/random"),
        AgentSettings("loop", {"history": "full", "reask": 1, "structured": "auto"}),
        Selection(count=20),
    ),
    RunSpec(
        BenchmarkRef(
            "environment",
            "/with space/'quoted'/b.json",
            {
                "env_url": "http://127.0.0.1:1",
                "explicit_env_url": True,
                "domain_id": "other",
                "pass_env": ["A_KEY", "B"],
                "step_timeout": 2.5,
            },
        ),
        ModelSettings("openai/m", 0.7, 64, extra={"top_k": 5, "stop": ["\n"]}, timeout_s=3.0, cache="/c.sqlite"),
        AgentSettings(
            "loop",
            {
                "history": 3,
                "history_tokens": 100,
                "reask": 0,
                "structured": "on",
                "system_prompt": "-be 'brief'\n$HOME `x`",
                "techniques": {"memory": {"window_size": 6}, "tool_calling": False, "plain": {}},
            },
        ),
        Selection((1, 2, 3, 9, -4, -3), None, 2),
        Limits(5, 1.5, 100, 60.0, 1_000, 0.25, 30.0, 1e6, 0),
        parallel=7,
        name="-odd name",
        tags=("a", "b c"),
    ),
    RunSpec(
        BenchmarkRef("environment", "/b.json", {}),
        ModelSettings("builtin/random"),
        AgentSettings("my.module:agent", {"depth": 3, "word": "yes", "flag": True}),
        Selection(count=1),
    ),
]


@pytest.mark.parametrize("spec", SPECS)
async def test_a_run_tells_all_of_its_spec(
    writer: "ApiClient", changing: Store, records: "Records", spec: RunSpec
) -> None:
    run = await records.write(changing, records.run(spec=spec), [])
    detail = RunDetail.model_validate_json(writer.get(f"/api/runs/{run.id}").content)
    assert msgspec.convert(detail.spec, RunSpec) == spec


@pytest.mark.parametrize("spec", SPECS)
def test_the_command_that_repeats_a_run_says_the_same_spec(spec: RunSpec) -> None:
    command = repeat_command(spec)
    assert command is not None
    words = shlex.split(command)
    assert words[:3] == ["mesocosm", "run", "local"]
    given = local.make_context("local", words[3:]).params
    again = local_spec(given)
    defaults = {"env_url": "http://localhost:8765", "explicit_env_url": False, "step_timeout": 60.0}
    history = {"history": "full", "reask": 1, "structured": "auto"} if spec.agent.name == "loop" else {}
    assert again == msgspec.structs.replace(
        spec,
        benchmark=msgspec.structs.replace(spec.benchmark, options={**defaults, **spec.benchmark.options}),
        agent=msgspec.structs.replace(spec.agent, options={**history, **spec.agent.options}),
    )


@pytest.mark.parametrize(
    "spec",
    [
        RunSpec(BenchmarkRef("python", "module:Class"), ModelSettings("builtin/random"), selection=Selection(count=1)),
        RunSpec(BenchmarkRef("environment", "/b.json"), ModelSettings("builtin/random")),
        RunSpec(BenchmarkRef("environment", "/b.json"), ModelSettings("a/b", top_p=0.5), selection=Selection(count=1)),
        RunSpec(
            BenchmarkRef("environment", "/b.json"),
            ModelSettings("openai/m@http://me:opensesame@host"),
            selection=Selection(count=1),
        ),
        RunSpec(
            BenchmarkRef("environment", "/b.json"),
            ModelSettings("builtin/random"),
            selection=Selection(tuple(range(0, 2_000, 2))),
        ),
    ],
)
def test_what_cannot_be_said_on_a_command_line_has_no_command(spec: RunSpec) -> None:
    assert repeat_command(spec) is None


def test_the_commands_of_a_run_name_its_results(client: "ApiClient", run_id: str, recorded: Path) -> None:
    commands = client.get(f"/api/runs/{run_id}").json()["commands"]
    assert commands["show"] == f"mesocosm run show {run_id} --results-dir {recorded}"
    assert commands["resume"] is None
    assert "--episodes 2" in commands["repeat"]
    assert commands["repeat"].endswith(f" --results-dir {recorded}")
