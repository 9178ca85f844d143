"""What an evaluation would come to, and the run that it is compared with."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.evaluations.conftest import COMMIT, CONFIG, FILES, ROWS, Team
from tests.server.routes.conftest import Person

from mesocosm.store.schema import runs

pytestmark = pytest.mark.usefixtures("forked_checks")


def estimate(team: Team, by: Person | None = None, **given: Any) -> httpx.Response:
    """Ask what an evaluation would come to."""
    body = {"kind": "rollout", "workspace": team.workspace, "configuration": "configs/eval/sums.toml"}
    if not {"snapshot", "branch", "commit", "from_run"} & given.keys():
        body["snapshot"] = team.snapshot
    return (by or team.owner).post("/api/runs/estimate", {**body, **given})


def estimated(team: Team, **given: Any) -> Any:
    """Return an estimate that is not refused."""
    answer = estimate(team, **given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def finish(team: Team, run_id: str, **given: Any) -> None:
    """Let a run be over, as if a worker had run it; `given` are other columns of its row."""
    planned = team.service.store.runs.get(run_id).counts.planned
    used = {"prompt_tokens": 1_000, "completion_tokens": 100, "model_calls": 4, "cost_usd": 0.5}
    row = {"status": "finished", "completed": planned, **used, **given}
    statement = runs.update().where(runs.c.id == run_id).values(row)
    team.service.store.database.write(lambda connection: connection.execute(statement))


def test_an_estimate_says_what_would_run_and_submits_nothing(team: Team) -> None:
    found = estimated(team, assignments={"evaluation.n": 3})
    assert (found["samples"], found["rows"], found["trials"]) == (24, 8, 3)
    assert (found["dataset"], found["dataset_version"], found["dataset_rows"]) == ("hard", 1, 8)
    assert (found["rollout"], found["entrypoint"], found["model"]) == ("sums", "main.py", "openai/tiny")
    assert (found["branch"], found["commit"], found["dirty"]) == ("main", COMMIT, False)
    assert found["rows_chosen"] == "all 8 rows"
    assert found["run_id"] is None
    assert team.owner.get("/api/runs").json()["items"] == []


def test_an_estimate_shows_the_first_chosen_rows(team: Team) -> None:
    shown = estimated(team)["preview"]
    assert [one["row"] for one in shown] == [0, 1, 2, 3, 4]
    assert (shown[0]["prompt"], shown[0]["label"]) == ("what is 0 + 1?", "1")
    assert [one["row"] for one in estimated(team, rows="6,2")["preview"]] == [2, 6]


def test_rows_beyond_the_stored_preview_are_read_from_the_file(team: Team) -> None:
    team.add_dataset("long", ROWS * 20)
    shown = estimated(team, dataset="long", rows="3,81,150-159")["preview"]
    assert [(one["row"], one["prompt"]) for one in shown] == [
        *((3, "what is 3 + 1?"), (81, "what is 1 + 1?"), (150, "what is 6 + 1?")),
        *((151, "what is 7 + 1?"), (152, "what is 0 + 1?")),
    ]


def test_missing_secrets_are_named_instead_of_refused(team: Team, tmp_path: Path) -> None:
    config = f'{CONFIG}\n[secrets]\nrequired = ["TOKEN", "OTHER"]\n'
    team.snapshot = team.add_code({**FILES, "configs/eval/sums.toml": config}, tmp_path / "other")
    team.owner.request("PUT", f"/api/workspaces/{team.workspace}/secrets/workspace/TOKEN", json={"value": "tok-123456"})
    found = estimated(team)
    assert (found["secrets"], found["missing_secrets"]) == ({"TOKEN": "workspace"}, ["OTHER"])


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"dataset": "none"}, 422, "mesocosm dataset upload"),
        ({"assignments": {"experiment.model_path": "openai/unknown"}}, 422, "cannot be run here"),
        ({"name": "a b"}, 422, "letters, digits"),
        ({"branch": "main"}, 409, "has no repository"),
    ],
)
def test_what_would_be_refused_is_refused(team: Team, given: dict[str, Any], status: int, words: str) -> None:
    answer = estimate(team, **given)
    assert answer.status_code == status, answer.text
    assert words in answer.text


def test_viewers_and_strangers_get_no_estimate(team: Team) -> None:
    eve, vic = team.hosted.member("eve"), team.hosted.member("vic")
    team.owner.post(f"/api/workspaces/{team.workspace}/members", {"username": "vic", "role": "viewer"})
    assert [estimate(team, by).status_code for by in (eve, vic)] == [404, 403]


def test_an_estimate_tells_of_a_name_that_is_taken_and_of_a_request_that_was_made(team: Team) -> None:
    run = team.submitted(name="once", limit=3)
    assert estimated(team, name="once", limit=3)["run_id"] == run["id"]
    assert estimate(team, name="once", limit=4).status_code == 409


def test_cost_is_estimated_from_the_last_run_of_the_configuration(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"openai/tiny": {"input": 10, "output": 100, "as_of": "2026-01-01"}}')
    monkeypatch.setenv("MESOCOSM_PRICES", str(prices))
    assert estimated(team)["basis"] is None
    first = team.submitted(name="first", limit=4)
    finish(team, first["id"])
    found = estimated(team)
    assert found["basis"] == {"run_id": first["id"], "name": "first", "model": "openai/tiny", "samples": 4}
    # At today's price, not at what the first run was charged.
    assert (found["tokens"], found["usd"]) == (2_200, pytest.approx(2 * (1_000 * 10 + 100 * 100) / 1e6))


def test_a_run_with_the_same_model_is_the_better_basis(team: Team) -> None:
    same = team.submitted(name="same", limit=4)
    other = team.submitted(name="other", limit=4, assignments={"experiment.model_path": "openai/judge"})
    for run in (same, other):
        finish(team, run["id"])
    assert estimated(team)["basis"]["name"] == "same"
    assert estimated(team, assignments={"experiment.model_path": "openai/judge"})["basis"]["name"] == "other"


def test_tokens_are_charged_at_the_price_of_another_model(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = team.submitted(name="first", limit=4)
    finish(team, first["id"], cost_unknown=1)
    prices = tmp_path / "prices.json"
    prices.write_text('{"openai/judge": {"input": 10, "output": 100, "as_of": "2026-01-01"}}')
    monkeypatch.setenv("MESOCOSM_PRICES", str(prices))
    found = estimated(team, assignments={"experiment.model_path": "openai/judge"})
    assert found["price"] == {"input_usd": 0.01, "output_usd": 0.1, "as_of": "2026-01-01"}
    assert found["usd"] == pytest.approx(2 * (1_000 * 10 + 100 * 100) / 1e6)


def test_a_run_is_found_by_its_name_in_its_workspace(team: Team) -> None:
    run = team.submitted(name="first")
    place = f"/api/workspaces/{team.workspace}/runs"
    assert {team.owner.get(f"{place}/{one}").json()["id"] for one in ("first", run["id"])} == {run["id"]}
    assert team.owner.get(f"{place}/none").status_code == 404
    assert team.hosted.member("eve").get(f"{place}/first").status_code == 404
