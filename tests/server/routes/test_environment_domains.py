"""Domains of submitted environments: made, brought up to date, and retired with them."""

import json
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.failure import InvalidInput
from mesocosm.core.ids import new_id
from mesocosm.server.auth import passwords
from mesocosm.server.domains.domains import publish_environment, retire_environment
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.server.conftest import Records
    from tests.server.routes.conftest import Hosted, Person

MANIFEST: dict[str, Any] = {
    "id": "my-env",
    "adapter": "adapter.py",
    "name": "Word game",
    "description": "Guess a word",
    "tags": ["words"],
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
        "episode": {"max_steps": 10},
    },
    "scoring": {
        "primary_metric": "solved",
        "metrics": [{"name": "solved", "type": "episode_reward", "aggregation": "pass_rate"}],
    },
}


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords at next to no cost: nobody signs in here."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 64)
    monkeypatch.setattr(passwords, "PASSES", 1)


class Submission:
    """An environment of somebody, whose versions are built at once."""

    def __init__(self, hosted: "Hosted", owner: "Person", team_id: str | None = None) -> None:
        self.service = hosted.service
        holder = f"user:{owner.user_id}" if team_id is None else f"team:{team_id}"
        self.row = EnvironmentRow(
            id=new_id(), holder_key=holder, owner_id=owner.user_id, team_id=team_id, created_at=time.time()
        )
        self.service.store.environments.add(self.row)

    def built(self, manifest: dict[str, Any], version: int = 1) -> DomainRow:
        """Publish a version and return its domain."""
        row = VersionRow(
            environment_id=self.row.id,
            version=version,
            state=BuildState.READY,
            commit_id="9fceb02d0ae598e95dc970b74767f1",
            manifest=json.dumps(manifest),
        )
        domain_id = publish_environment(self.service, self.row, row)
        self.row = msgspec.structs.replace(self.row, domain_id=domain_id)
        found = self.service.store.domains.get(domain_id)
        assert found is not None
        return found


def with_vow(**given: Any) -> dict[str, Any]:
    return {**MANIFEST, "binding_vow": {**MANIFEST["binding_vow"], **given}}


def order(hosted: "Hosted", records: "Records", domain_id: str, version: str = "1.0.0") -> str:
    """Store a public run of a domain and return its id."""
    run = records.run()
    hosted.service.store.runs.add(run)
    hosted.service.store.run_requests.add(
        RunRequest(
            run_id=run.id,
            actor="user:1",
            domain_id=domain_id,
            vow_version=version,
            model="m",
            visibility="gallery_public",
            config={"domain_id": domain_id, "binding_vow_version": version, "agent_config": {"model": "m"}},
            created_at=1.0,
        )
    )
    return run.id


def test_a_built_environment_has_a_published_domain(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    row = Submission(hosted, ada).built(MANIFEST)
    shown = hosted.anonymous.get(f"/api/domains/{row.id}").json()
    assert (shown["name"], shown["detail"], shown["tags"]) == ("Word game", "Guess a word", ["words"])
    assert (shown["status"], shown["endpoint"]["mode"], shown["owner_id"]) == ("published", "sandbox", str(ada.user_id))
    assert shown["binding_vow"]["domain_id"] == shown["id"] == row.id
    assert [entry["version"] for entry in shown["version_history"]] == ["1.0.0"]
    assert "commit 9fceb02d0ae5" in shown["version_history"][0]["changes"]


def test_publishing_a_version_again_changes_nothing(hosted: "Hosted") -> None:
    submission = Submission(hosted, hosted.member("ada"))
    first = submission.built(MANIFEST)
    submission.row = msgspec.structs.replace(submission.row, domain_id=None)
    assert submission.built(MANIFEST) == first


def test_a_new_version_keeps_the_domain_and_notes_a_new_vow(hosted: "Hosted") -> None:
    submission = Submission(hosted, hosted.member("ada"))
    first = submission.built(MANIFEST)
    second = submission.built({**with_vow(version="1.1.0"), "name": "Words"}, 2)
    assert (second.id, second.name, second.created_at) == (first.id, "Words", first.created_at)
    assert [entry["version"] for entry in second.document["version_history"]] == ["1.0.0", "1.1.0"]


def test_other_rules_under_a_version_that_was_run_are_refused(hosted: "Hosted", records: "Records") -> None:
    submission = Submission(hosted, hosted.member("ada"))
    row = submission.built(MANIFEST)
    submission.built(with_vow(description="not run by yet"), 2)
    order(hosted, records, row.id)
    with pytest.raises(InvalidInput, match="new version"):
        submission.built(with_vow(description="run by"), 3)
    assert submission.built(with_vow(version="1.0.1", description="run by"), 4).id == row.id


def test_a_manifest_without_sense_is_refused(hosted: "Hosted") -> None:
    with pytest.raises(InvalidInput, match="version"):
        Submission(hosted, hosted.member("ada")).built(with_vow(version="banana"))


def test_what_its_author_unpublished_stays_a_draft(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    submission = Submission(hosted, ada)
    row = submission.built(MANIFEST)
    ada.post(f"/api/domains/{row.id}/unpublish")
    assert submission.built({**MANIFEST, "name": "New"}, 2).status == "draft"


def test_rules_from_a_manifest_are_not_changed_by_hand(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    row = Submission(hosted, ada).built(MANIFEST)
    where = f"/api/domains/{row.id}"
    refused = ada.request("PATCH", where, json={"binding_vow": with_vow(version="2.0.0")["binding_vow"]})
    assert refused.status_code == 409
    assert "manifest" in refused.json()["detail"]
    assert ada.request("PATCH", where, json={"endpoint": {"url": "https://8.8.8.8/"}}).status_code == 409
    assert ada.request("PATCH", where, json={"tags": ["new"]}).json()["tags"] == ["new"]


def test_team_mates_may_do_what_the_owner_may(hosted: "Hosted") -> None:
    ada, ben, eve = hosted.member("ada"), hosted.member("ben"), hosted.member("eve")
    team = ada.post("/api/teams", {"name": "Pandas"}).json()
    ben.post("/api/teams/join", {"code": team["join_code"]})
    row = Submission(hosted, ada, team["team_id"]).built(MANIFEST)
    where = f"/api/domains/{row.id}"
    assert ben.post(f"{where}/unpublish").status_code == 200
    assert ben.get(where).json()["team_id"] == team["team_id"]
    assert [one["id"] for one in ben.get("/api/domains").json()] == [row.id]
    assert eve.get(where).status_code == 404
    assert eve.post(f"{where}/publish").status_code == 404


def test_who_left_a_team_is_outside_even_of_what_they_submitted(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    team = ada.post("/api/teams", {"name": "Pandas"}).json()
    ben.post("/api/teams/join", {"code": team["join_code"]})
    row = Submission(hosted, ben, team["team_id"]).built(MANIFEST)
    ben.request("DELETE", f"/api/teams/{team['team_id']}/members/me")
    assert ben.post(f"/api/domains/{row.id}/unpublish").status_code == 403
    assert ada.post(f"/api/domains/{row.id}/unpublish").status_code == 200
    assert ben.get("/api/domains").json() == []


def test_a_deleted_environment_leaves_an_archived_domain_and_private_runs(hosted: "Hosted", records: "Records") -> None:
    ada = hosted.member("ada")
    submission = Submission(hosted, ada)
    row = submission.built(MANIFEST)
    run_id = order(hosted, records, row.id)
    retire_environment(hosted.service, submission.row)
    hosted.service.store.environments.delete(submission.row.id, time.time())
    kept = hosted.service.store.run_requests.get(run_id)
    assert kept is not None
    assert kept.visibility == "private"
    assert hosted.anonymous.get(f"/api/domains/{row.id}").json()["status"] == "archived"
    refused = ada.post(f"/api/domains/{row.id}/publish")
    assert refused.status_code == 409
    assert "deleted" in refused.json()["detail"]


def test_a_deleted_team_takes_its_environments_along(hosted: "Hosted", records: "Records") -> None:
    ada = hosted.member("ada")
    team = ada.post("/api/teams", {"name": "Pandas"}).json()["team_id"]
    submission = Submission(hosted, ada, team)
    row = submission.built(MANIFEST)
    run_id = order(hosted, records, row.id)
    listed = ada.get(f"/api/teams/{team}/environments").json()
    assert [one["id"] for one in listed] == [submission.row.id]
    assert ada.request("DELETE", f"/api/teams/{team}").status_code == 204
    assert hosted.service.store.environments.get(submission.row.id) is None
    assert hosted.anonymous.get(f"/api/domains/{row.id}").json()["status"] == "archived"
    kept = hosted.service.store.run_requests.get(run_id)
    assert kept is not None
    assert (kept.visibility, kept.team_id) == ("private", None)
