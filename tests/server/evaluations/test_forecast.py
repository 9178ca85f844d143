"""What runs of benchmarks would come to, for several models at once."""

from typing import Any

import pytest
from tests.server.evaluations.conftest import OpenTeam, Team
from tests.server.routes.conftest import Person

from mesocosm.server.managed_models import ManagedModel, save_model
from mesocosm.server.schemas.model import ModelPrice
from mesocosm.server.settings import ModelEntry
from mesocosm.store.schema import episodes, runs

BODY: dict[str, Any] = {"kind": "benchmark", "benchmark": "eliza-format", "model": "openai/tiny"}


def forecast(team: Team, *wanted: dict[str, Any], by: Person | None = None) -> Any:
    """Return what runs would come to."""
    asked = [{**BODY, "workspace": team.workspace, **one} for one in wanted or ({},)]
    answer = (by or team.owner).post("/api/runs/forecast", {"runs": asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def team(open_team: OpenTeam) -> Team:
    """A team whose models cost something, although they are on this machine."""
    found = open_team()
    for name in ("openai/tiny", "openai/judge"):
        price = ModelPrice(input=1_000.0, output=1_000.0)
        entry = ModelEntry(name=name, served_as=f"{name}@{found.model.openai_url}", price=price)
        save_model(found.service.store, ManagedModel(entry))
    return found


@pytest.fixture
def played(team: Team) -> str:
    """A finished run of 3 episodes, with 100, 200 and 300 tokens in 1, 2 and 3 seconds."""
    run_id = str(
        team.owner.post("/api/runs", {**BODY, "workspace": team.workspace, "max_examples": 3, "name": "before"}).json()[
            "id"
        ]
    )
    team.work()
    found = team.service.store.episodes.list(run_id).items

    def work(connection: Any) -> None:
        for number, one in enumerate(found, 1):
            used = {"tokens": 100 * number, "duration": float(number)}
            connection.execute(episodes.update().where(episodes.c.id == one.id).values(used))
        spent = {"prompt_tokens": 400, "completion_tokens": 200, "model_calls": 3, "cost_usd": 0.6}
        connection.execute(runs.update().where(runs.c.id == run_id).values(spent))

    team.service.store.database.write(work)
    return run_id


def test_without_an_earlier_run_of_the_model_nothing_is_made_up(team: Team) -> None:
    found = forecast(team)
    (one,) = found["runs"]
    assert one["note"] == "no estimate: no run of openai/tiny on eliza-format yet"
    assert (one["tokens"], one["usd"], one["seconds"], one["basis"]) == (None, None, None, None)
    assert (found["usd"], found["unknown"], one["refused"]) == (None, 1, "")
    assert team.owner.get("/api/runs").json()["items"] == []


def test_an_earlier_run_of_the_model_gives_numbers_with_a_range_and_its_name(team: Team, played: str) -> None:
    found = forecast(team, {"max_examples": 12, "parallel": 2}, {"model": "openai/judge"})
    mine, other = found["runs"]
    assert (mine["basis"]["run_id"], mine["basis"]["name"], mine["basis"]["episodes"]) == (played, "before", 3)
    assert (mine["episodes"], mine["tokens"]["value"], mine["seconds"]["value"]) == (12, 2_400, 12)
    # A deviation of 100, for 12 further episodes and from 3 known ones: 1.96 * 100 * sqrt(12 + 144 / 3).
    assert mine["tokens"]["high"] - mine["tokens"]["value"] == pytest.approx(1_518.2, abs=0.1)
    assert mine["usd"]["value"] == pytest.approx(2.4)
    assert mine["usd"]["low"] < mine["usd"]["value"] < mine["usd"]["high"]
    assert other["note"] == "no estimate: no run of openai/judge on eliza-format yet"
    assert (found["usd"]["value"], found["unknown"]) == (pytest.approx(2.4), 1)


def test_runs_that_the_caller_may_not_see_are_no_basis(team: Team, played: str) -> None:
    assert forecast(team, {"workspace": ""}, by=team.owner)["runs"][0]["basis"]["run_id"] == played
    (eve,) = forecast(team, {"workspace": ""}, by=team.hosted.member("eve"))["runs"]
    assert (eve["basis"], eve["usd"]) == (None, None)


def test_a_refused_run_says_why_and_the_others_are_estimated(team: Team) -> None:
    found = forecast(team, {"model": "openai/unknown"}, {"parameters": {"strange": 1}}, {"trials": 2})
    unknown, strange, fine = found["runs"]
    assert "cannot be run here" in unknown["refused"]
    assert strange["field"] == "parameters.strange"
    assert (fine["refused"], fine["trials"], fine["episodes"]) == ("", 2, 2 * fine["tasks"])
    (stranger,) = forecast(team, {}, by=team.hosted.member("eve"))["runs"]
    assert "you are in no workspace" in stranger["refused"]


def test_the_same_as_a_command_is_exact(team: Team) -> None:
    (one,) = forecast(
        team, {"parameters": {"temperature": 0.5}, "max_examples": 7, "run_usd": 1.5, "tags": ["a b"], "parallel": 32}
    )["runs"]
    assert one["command"] == (
        "mesocosm bench run eliza-format --remote --workspace reefs --model openai/tiny --extra "
        "'{\"temperature\": 0.5}' --max-examples 7 --parallel 32 --run-usd 1.5 --tag 'a b' --fresh"
    )


def test_a_run_stops_at_what_its_submitter_says_within_the_budget(open_team: OpenTeam) -> None:
    team = open_team(
        run_budget_usd=2.0,
        models=[{"name": "openai/paid", "price": {"input": 1, "output": 1}}, {"name": "builtin/empty"}],
    )
    wanted = [{"model": "openai/paid", "run_usd": usd} for usd in (0.5, 9.0)] + [{"model": "builtin/empty"}]
    little, much, free = forecast(team, *wanted)["runs"]
    assert (little["budget_usd"], much["budget_usd"], free["budget_usd"]) == (0.5, 2.0, None)
    assert (free["free"], free["usd"]) == (True, {"value": 0.0, "low": 0.0, "high": 0.0})


def test_a_private_server_plays_all_of_gsm8k_with_32_at_once(team: Team) -> None:
    rows = b"".join(b'{"question": "%d?", "answer": "#### %d"}\n' % (row, row) for row in range(1_319))
    team.add_dataset("gsm8k", rows, columns={"user_prompt": "question", "ground_truth": ["answer"]})
    wanted = {"benchmark": "gsm8k", "parameters": {"data_path": "dataset:gsm8k"}, "parallel": 32}
    (one,) = forecast(team, wanted)["runs"]
    assert (one["refused"], one["episodes"], one["parallel"]) == ("", 1_319, 32)


def rollout(team: Team, **given: Any) -> dict[str, Any]:
    """Return a run of the team's rollout."""
    return {"kind": "rollout", "workspace": team.workspace, "configuration": "configs/eval/sums.toml", **given}


def test_a_rollout_is_estimated_from_its_last_run_of_the_model_and_has_its_command(team: Team) -> None:
    before = team.submitted(name="before")["id"]
    team.work()
    chosen = {
        "assignments": {"experiment.model_path": "openai/judge"},
        "limit": 2,
        "name": "other",
        "from_run": "before",
    }
    answer = team.owner.post(
        "/api/runs/forecast", {"runs": [rollout(team, snapshot=team.snapshot), rollout(team, **chosen)]}
    )
    assert answer.status_code == 200, answer.text
    mine, other = answer.json()["runs"]
    assert (mine["model"], mine["basis"]["run_id"], mine["refused"]) == ("openai/tiny", before, "")
    assert mine["tokens"]["low"] <= mine["tokens"]["value"] <= mine["tokens"]["high"]
    assert (other["model"], other["tasks"], other["basis"]) == ("openai/judge", 2, None)
    assert mine["command"] == ""
    assert other["command"] == (
        "mesocosm eval submit --workspace reefs --from before --limit 2 --name other "
        "--set experiment.model_path=openai/judge"
    )


def test_a_run_of_an_environment_that_would_be_refused_says_why_and_at_which_field(team: Team) -> None:
    body = {"domain_id": "nothing", "binding_vow_version": "1.0.0", "agent_config": {"model": "openai/tiny"}}
    (one,) = team.owner.post("/api/runs/forecast", {"runs": [body]}).json()["runs"]
    assert "nothing" in one["refused"]
    assert (one["model"], one["episodes"], one["usd"]) == ("openai/tiny", 0, None)
