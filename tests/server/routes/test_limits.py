"""What somebody may do, and how much of it is left; where a run stands in the queue."""

import time

from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.core.usage import Usage
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.run_requests import RunRequest


def ordered(
    hosted: Hosted, person: Person, *, cooldown_s: float = 0.0, usd: float = 0.0, team: str | None = None
) -> str:
    """Accept a run of somebody, as if they had asked for it."""
    run = Run(
        id=new_id(),
        signature="signature",
        benchmark="d",
        benchmark_title="D",
        benchmark_version="1.0.0",
        benchmark_digest="digest",
        kind="hosted",
        model="m",
        agent="loop",
        spec=RunSpec(BenchmarkRef("hosted", "d"), ModelSettings("builtin/random")),
        created_at=time.time(),
        usage=Usage(cost_usd=usd),
    )
    order = RunRequest(
        run_id=run.id,
        actor=f"user:{person.user_id}",
        team_id=team,
        domain_id="d",
        vow_version="1.0.0",
        model="m",
        created_at=time.time(),
    )
    terms = AdmissionTerms(cooldown_s=cooldown_s, per_day=hosted.service.settings.quota(guest=False).per_day, waiting=9)
    assert hosted.service.store.queue.admit(order, run, terms) is None
    return run.id


def test_runs_are_counted_against_what_one_may_do(open_hosted: OpenHosted) -> None:
    hosted = open_hosted(cooldown_s=500.0, member_runs_per_day=3, user_budget_usd=2.0)
    ann = hosted.member("ann")
    before = ann.get("/api/limits").json()
    assert (before["runs_left_today"], before["waiting"], before["cooldown_left_seconds"]) == (3, 0, 0)
    ordered(hosted, ann, cooldown_s=500.0, usd=0.5)
    after = ann.get("/api/limits").json()
    assert (after["runs_left_today"], after["waiting"], after["queue_length"]) == (2, 1, 1)
    assert 490 < after["cooldown_left_seconds"] <= 500
    assert after["budget"] == {"limit_usd": 2.0, "spent_usd": 0.5, "left_usd": 1.5}
    assert hosted.member("bob").get("/api/limits").json()["runs_left_today"] == 3


def test_a_team_has_a_budget_of_its_own_that_only_its_members_are_told(open_hosted: OpenHosted) -> None:
    hosted = open_hosted(team_budget_usd=5.0)
    ann, bob = hosted.member("ann"), hosted.member("bob")
    assert ann.user_id is not None
    team = hosted.service.store.teams.add("Reefs", ann.user_id)
    assert team is not None
    ordered(hosted, ann, usd=1.0, team=team.id)
    told = ann.get("/api/limits", params={"team_id": team.id}).json()
    assert told["team_budget"] == {"limit_usd": 5.0, "spent_usd": 1.0, "left_usd": 4.0}
    assert told["budget"]["limit_usd"] is None
    assert bob.get("/api/limits", params={"team_id": team.id}).status_code == 403


def test_guests_and_strangers_are_told_what_a_guest_may_do(open_hosted: OpenHosted) -> None:
    hosted = open_hosted(demo_domains="word-game,maze", guest_runs_per_day=5, guest_budget_usd=0.25)
    guest, nobody = hosted.guest().get("/api/limits").json(), hosted.anonymous.get("/api/limits").json()
    assert guest["domains"] == nobody["domains"] == ["word-game", "maze"]
    assert guest["runs_left_today"] == nobody["runs_left_today"] == 5
    assert (guest["may_run"], nobody["may_run"]) == (True, False)
    assert guest["budget"]["left_usd"] == nobody["budget"]["left_usd"] == 0.25
    assert hosted.member("ann").get("/api/limits").json()["domains"] is None


def test_a_waiting_run_has_a_place_that_its_owner_is_told(hosted: Hosted) -> None:
    ann, bob = hosted.member("ann"), hosted.member("bob")
    ordered(hosted, ann)
    second = ordered(hosted, ann)
    other = ordered(hosted, bob)
    assert ann.get(f"/api/runs/{second}/queue").json() == {"waiting": True, "position": 3, "length": 3}
    assert bob.get(f"/api/runs/{other}/queue").json()["position"] == 2
    assert bob.get(f"/api/runs/{second}/queue").status_code in {403, 404}
    hosted.service.store.queue.cancel(second)
    assert ann.get(f"/api/runs/{second}/queue").json() == {"waiting": False, "position": None, "length": 2}
