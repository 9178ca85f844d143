"""Submitted environments over the API: what each may do, and what older clients read."""

import time
from typing import Any

import msgspec
import pytest
from tests.server.routes.conftest import Hosted, OpenHosted, Person

from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.server.builds.directory import build_directory
from mesocosm.server.builds.log import NOTE
from mesocosm.server.domains.domains import publish_environment
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import BuildState
from mesocosm.store.run_requests import RunRequest

BASE = "/api/environments"
SOURCE = "https://github.com/you/word-game"
MANIFEST = {
    "name": "Words",
    "adapter": "adapter.py",
    "binding_vow": {
        "version": "1.2.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
        "episode": {"max_steps": 5},
    },
    "scoring": {
        "primary_metric": "reward",
        "metrics": [{"name": "reward", "type": "episode_reward", "aggregation": "mean"}],
    },
}


class World:
    """Ann, her team mate Bob, Cid who is not in the team, and an administrator."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.service = hosted.service
        self.ann, self.bob, self.cid = (self.person(name) for name in ("ann", "bob", "cid"))
        self.root, self.guest, self.nobody = self.person("root", "admin"), hosted.guest(), hosted.anonymous
        assert self.ann.user_id is not None
        assert self.bob.user_id is not None
        team = self.service.store.teams.add("Reefs", self.ann.user_id)
        assert team is not None
        self.service.store.teams.join(team.join_code, self.bob.user_id, 4)
        self.team_id = team.id

    def person(self, name: str, role: str = "member") -> Person:
        """Return somebody new without a password, whose digest would take longer than most tests."""
        user = self.service.store.users.add(name, role=role)
        return Person(self.hosted, self.service.accounts.access_token(user), user.id, name)

    def submit(self, who: Person | None = None, **given: Any) -> dict[str, Any]:
        """Submit and return the environment."""
        answer = (who or self.ann).post(BASE, {"name": "Word game", "github_url": SOURCE, **given})
        assert answer.status_code in (200, 201), answer.text
        document: dict[str, Any] = answer.json()
        return document

    def finish(self, state: BuildState = BuildState.READY, error: str = "", log: str = "") -> None:
        """Build what waits, as a worker would: this ends it."""
        version = self.service.store.environments.claim_build("w", 30.0)
        assert version is not None
        manifest = msgspec.json.encode(MANIFEST).decode()
        done = msgspec.structs.replace(
            version, state=state, error=error, log=log, manifest=manifest, commit_id="c" * 40, ended_at=time.time()
        )
        domain_id = None
        if state is BuildState.READY:
            environment = self.service.store.environments.get(version.environment_id)
            assert environment is not None
            domain_id = publish_environment(self.service, environment, done)
        assert self.service.store.environments.save_version(done, domain_id=domain_id)

    def ready(self, who: Person | None = None, **given: Any) -> dict[str, Any]:
        """Submit and build."""
        environment = self.submit(who, **given)
        self.finish()
        found: dict[str, Any] = (who or self.ann).get(f"{BASE}/{environment['id']}").json()
        return found

    def run(self, environment: dict[str, Any], **given: Any) -> str:
        """Add a run of an environment."""
        fields = {"status": RunStatus.FINISHED, "state": "ended", "who": self.ann, "visibility": "private", **given}
        run = Run(
            id=new_id(),
            signature="s",
            benchmark=environment["domain_id"],
            benchmark_title="Words",
            benchmark_version="1.2.0",
            benchmark_digest="d",
            kind="hosted",
            model="builtin/random",
            agent="loop",
            spec=RunSpec(BenchmarkRef("hosted", environment["domain_id"]), ModelSettings("builtin/random")),
            counts=Counts(planned=2, completed=2 if fields["status"] is RunStatus.FINISHED else 0),
            status=fields["status"],
            created_at=time.time(),
        )
        self.service.store.runs.add(run)
        self.service.store.run_requests.add(
            RunRequest(
                run_id=run.id,
                actor=f"user:{fields['who'].user_id}",
                domain_id=environment["domain_id"],
                environment_id=environment["id"],
                environment_version=1,
                vow_version="1.2.0",
                model="builtin/random",
                visibility=fields["visibility"],
                purpose=given.get("purpose", "run"),
                config={
                    "domain_id": environment["domain_id"],
                    "binding_vow_version": "1.2.0",
                    "agent_config": {"model": "builtin/random"},
                    "num_episodes": 2,
                },
                state=fields["state"],
                created_at=time.time(),
            )
        )
        return run.id


@pytest.fixture
def world(hosted: Hosted) -> World:
    return World(hosted)


def test_a_submission_is_answered_as_older_clients_read_it(world: World) -> None:
    answer = world.ann.post(
        BASE, {"name": "Word game", "description": "Guess.", "github_url": "You/Word-Game", "owner_id": 99}
    )
    assert answer.status_code == 201
    document = answer.json()
    assert document | {"id": "", "created_at": ""} == {
        "id": "",
        "owner_id": world.ann.user_id,
        "name": "Word game",
        "description": "Guess.",
        "github_url": SOURCE,
        "status": "pending",
        "domain_id": None,
        "env_url": None,
        "error_message": None,
        "created_at": "",
        "scope": "solo",
        "team_id": None,
        "submission_version": 1,
        "domain_history": [],
        "resubmitted_at": None,
        "ref": None,
        "folder": None,
        "stage": "queued",
        "ready_version": None,
        "check": None,
    }
    assert document["created_at"].endswith(("Z", "+00:00"))


def test_what_cannot_work_is_refused_at_once(world: World) -> None:
    for given, words in (
        ({"github_url": "git@github.com:you/repo"}, "ssh"),
        ({"github_url": "https://example.org/you/repo"}, "are not accepted"),
        ({"github_url": "/srv/words"}, "not accepted by this server"),
        ({"ref": "-x"}, "not a valid name of a branch"),
        ({"folder": "../x"}, "leaves the repository"),
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"github_url": None}, "github_url"),
    ):
        answer = world.ann.post(BASE, {"name": "x", "github_url": SOURCE, **given})
        assert answer.status_code == 422
        assert words in answer.text
    assert world.ann.get(BASE).json() == []


def test_a_second_submission_waits_for_the_first_and_then_is_the_next_version(world: World) -> None:
    first = world.submit()
    busy = world.ann.post(BASE, {"name": "x", "github_url": f"{SOURCE}.git"})
    assert busy.status_code == 409
    assert f"environment {first['id']} is being built" in busy.json()["detail"]
    world.finish()
    again = world.ann.post(BASE, {"name": "x", "github_url": SOURCE, "ref": "dev"})
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["submission_version"], again.json()["ref"]) == (first["id"], 2, "dev")
    assert again.json()["resubmitted_at"] is not None
    assert again.json()["ready_version"] == 1


def test_an_owner_has_only_so_many(open_hosted: OpenHosted) -> None:
    world = World(open_hosted(environments_per_owner=1))
    world.submit()
    full = world.ann.post(BASE, {"name": "x", "github_url": SOURCE, "folder": "b"})
    assert full.status_code == 409
    assert "you have 1 environments" in full.text
    world.submit(team_id=world.team_id)


def test_only_members_submit(world: World) -> None:
    body = {"name": "x", "github_url": SOURCE}
    assert [who.post(BASE, body).status_code for who in (world.nobody, world.guest)] == [401, 403]


def test_only_who_is_in_a_team_submits_for_it(world: World) -> None:
    body = {"name": "x", "github_url": SOURCE, "team_id": world.team_id}
    assert world.cid.post(BASE, body).status_code == 403
    assert world.cid.post(BASE, {**body, "team_id": "no-team"}).status_code == 422
    assert world.cid.post(BASE, {**body, "team_id": "01890a5d-ac96-774b-bcce-b302099a8057"}).status_code == 403
    document = world.bob.post(BASE, body).json()
    assert (document["scope"], document["team_id"], document["owner_id"]) == ("team", world.team_id, world.bob.user_id)
    assert world.root.post(BASE, {**body, "folder": "b"}).status_code == 201


def test_only_insiders_look_at_an_environment(world: World) -> None:
    environment = world.submit(team_id=world.team_id)
    people = (world.ann, world.bob, world.root, world.cid, world.guest, world.nobody)
    for path in ("", "/poll", "/versions", "/versions/1", "/logs"):
        at = f"{BASE}/{environment['id']}{path}"
        assert [who.get(at).status_code for who in people] == [200, 200, 200, 404, 403, 401], path


def test_who_left_the_team_is_outside(world: World) -> None:
    environment = world.submit(world.bob, team_id=world.team_id)
    assert world.bob.user_id is not None
    world.service.store.teams.remove(world.team_id, world.bob.user_id)
    assert world.bob.get(f"{BASE}/{environment['id']}").status_code == 404


def test_a_solo_environment_is_not_the_teams(world: World) -> None:
    assert world.bob.get(f"{BASE}/{world.submit()['id']}").status_code == 404


def test_an_unknown_environment_is_404(world: World) -> None:
    for name in ("nowhere", "%00", "a%5Cb", "a'b", "😀"):
        assert world.ann.get(f"{BASE}/{name}").status_code == 404
        assert world.ann.request("DELETE", f"{BASE}/{name}").status_code == 404


def test_lists_are_narrowed_by_scope_team_and_domain(world: World) -> None:
    mine, team = world.ready(), world.submit(world.bob, team_id=world.team_id)
    theirs = world.submit(world.cid)

    def listed(who: Person, **query: str) -> list[str]:
        answer = who.get(BASE, params=query)
        assert answer.status_code == 200, answer.text
        return [row["id"] for row in answer.json()]

    assert listed(world.ann) == [mine["id"]]
    assert listed(world.ann, scope="solo") == [mine["id"]]
    assert listed(world.ann, scope="team", team_id=world.team_id) == [team["id"]]
    assert listed(world.ann, team_id=world.team_id) == [team["id"]]
    assert listed(world.ann, scope="mine") == [team["id"], mine["id"]]
    assert listed(world.ann, scope="mine", limit="1", cursor=team["id"]) == [mine["id"]]
    assert listed(world.ann, domain_id=mine["domain_id"]) == [mine["id"]]
    assert listed(world.cid, domain_id=mine["domain_id"]) == []
    assert listed(world.root, scope="all") == [theirs["id"], team["id"], mine["id"]]


def test_lists_that_cannot_be_had(world: World) -> None:
    for query, status in (
        ({"scope": "team"}, 422),
        ({"scope": "everything"}, 422),
        ({"scope": "all"}, 403),
        ({"scope": "team", "team_id": world.team_id}, 403),
        ({"limit": "0"}, 422),
        ({"limit": "101"}, 422),
    ):
        assert world.cid.get(BASE, params=query).status_code == status, query


def test_polling_tells_how_far_it_is(world: World) -> None:
    environment = world.submit()
    world.finish(BuildState.FAILED, error="no manifest was found")
    assert world.ann.get(f"{BASE}/{environment['id']}/poll").json() == {
        "id": environment["id"],
        "status": "failed",
        "domain_id": None,
        "env_url": None,
        "error_message": "no manifest was found",
        "stage": "failed",
        "submission_version": 1,
    }


def test_only_what_failed_is_tried_again(world: World) -> None:
    environment = world.submit()
    at = f"{BASE}/{environment['id']}/retry"
    assert world.ann.post(at).status_code == 409
    assert f"environment {environment['id']} is being built" in world.ann.post(at).json()["detail"]
    world.finish(BuildState.FAILED)
    assert world.cid.post(at).status_code == 404
    again = world.ann.post(at)
    assert again.status_code == 200
    assert (again.json()["status"], again.json()["submission_version"]) == ("pending", 2)
    world.finish()
    assert world.ann.post(at).status_code == 409


def test_versions_tell_what_was_built(world: World) -> None:
    environment = world.ready()
    world.submit()
    world.finish(BuildState.FAILED, error="lost", log=f"{NOTE}say terminated\n")
    at = f"{BASE}/{environment['id']}/versions"
    found = world.ann.get(at).json()
    assert [(row["version"], row["state"], row["current"]) for row in found] == [
        (2, "failed", False),
        (1, "ready", True),
    ]
    assert (found[1]["vow_version"], found[1]["commit"], found[1]["github_url"]) == ("1.2.0", "c" * 40, SOURCE)
    assert [row["version"] for row in world.ann.get(at, params={"limit": 1, "cursor": 2}).json()] == [1]
    detail = world.ann.get(f"{at}/2").json()
    assert (detail["manifest"], detail["notes"], detail["error_message"]) == (MANIFEST, ["say terminated"], "lost")
    assert [world.ann.get(f"{at}/{number}").status_code for number in ("3", "0", "x", "99999999999")] == [
        404,
        422,
        422,
        422,
    ]


def test_logs_hold_the_build_and_the_last_words_of_the_adapter(world: World) -> None:
    environment = world.submit()
    world.finish(BuildState.FAILED, log="== cloning\n")
    place = build_directory(world.service.settings, environment["id"], 1)
    place.logs.mkdir(parents=True)
    (place.logs / "stderr.log").write_text("old\n" * 500 + f"{place.folder}/source/env.py: oh\n")
    at = f"{BASE}/{environment['id']}/logs"
    found = world.ann.get(at).json()
    assert (found["version"], found["state"], found["build"]) == (1, "failed", "== cloning\n")
    assert found["adapter"].endswith("old\nsource/env.py: oh")
    assert found["adapter"].count("\n") < 250
    assert world.ann.get(at, params={"version": 2}).status_code == 404


def test_deleting_ends_everything_of_it(world: World) -> None:
    environment = world.ready(team_id=world.team_id)
    queued = world.run(environment, status=RunStatus.PENDING, state="queued")
    public = world.run(environment, visibility="gallery_public")
    at = f"{BASE}/{environment['id']}"
    assert world.cid.request("DELETE", at).status_code == 404
    assert world.bob.request("DELETE", at).status_code == 204
    assert world.ann.get(at).status_code == 404
    assert world.ann.get(BASE, params={"scope": "mine"}).json() == []
    domain = world.service.store.domains.get(environment["domain_id"])
    assert domain is not None
    assert domain.status == "archived"
    orders = world.service.store.run_requests.of([queued, public])
    assert (orders[queued].state, orders[queued].reason) == ("cancelled", "its environment was deleted")
    assert orders[public].visibility == "private"
    assert world.service.store.environments.version(environment["id"], 1) is not None
    assert world.bob.request("DELETE", at).status_code == 404


def test_runs_of_others_are_listed_only_where_they_are_public(world: World) -> None:
    environment = world.ready()
    mine = world.run(environment)
    world.run(environment, who=world.cid)
    shown = world.run(environment, who=world.cid, visibility="gallery_public")
    found = world.ann.get("/api/runs", params={"environment": environment["id"]}).json()["items"]
    assert [row["id"] for row in found] == [shown, mine]


def test_usage_counts_runs_of_everybody(world: World) -> None:
    environment = world.ready()
    world.run(environment)
    world.run(environment, who=world.cid, visibility="gallery_public")
    world.run(environment, status=RunStatus.PENDING, state="queued")
    world.run(environment, purpose="test")
    used = world.ann.get(f"{BASE}/{environment['id']}").json()["usage"]
    assert (used["total_runs"], used["total_episodes"]) == (3, 4)
    assert used["by_status"] == {"completed": 2, "pending": 1}
    assert (used["avg_score"], used["best_score"], used["gallery_eligible"]) == (None, None, 1)
    of_domain = world.nobody.get(f"/api/domains/{environment['domain_id']}/usage").json()
    public = {"total_runs": 1, "total_episodes": 2, "by_status": {"completed": 1}}
    assert of_domain == {"domain_id": environment["domain_id"], **used, **public}


def test_usage_tells_nobody_of_what_they_may_not_read(world: World) -> None:
    environment = world.ready()
    at = f"/api/domains/{environment['domain_id']}/usage"
    before = {who: who.get(at).json() for who in (world.nobody, world.guest, world.bob)}
    for state, status in (("ended", RunStatus.FINISHED), ("ended", RunStatus.FAILED), ("queued", RunStatus.PENDING)):
        world.run(environment, who=world.cid, status=status, state=state)
    world.run(environment, who=world.cid, visibility="gallery_public", status=RunStatus.FAILED)
    assert {who: who.get(at).json() for who in before} == before
    assert world.cid.get(at).json()["total_runs"] == 4


def test_usage_of_a_draft_is_for_its_owner(world: World) -> None:
    environment = world.ready()
    world.run(environment)
    domain = world.service.store.domains.get(environment["domain_id"])
    assert isinstance(domain, DomainRow)
    world.service.store.domains.replace(msgspec.structs.replace(domain, status="draft"))
    at = f"/api/domains/{domain.id}/usage"
    assert world.nobody.get(at).status_code == 404
    assert world.ann.get(at).json()["total_runs"] == 1
    assert world.nobody.get("/api/domains/nowhere/usage").status_code == 404


def test_with_accounts_switched_off_everything_works(open_hosted: OpenHosted) -> None:
    hosted = open_hosted(auth_disabled=True)
    answer = hosted.anonymous.post(BASE, {"name": "x", "github_url": SOURCE})
    assert answer.status_code == 201
    assert [row["id"] for row in hosted.anonymous.get(BASE).json()] == [answer.json()["id"]]
