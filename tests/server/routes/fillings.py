"""How every route of a platform is asked: with whose ids, and with which body."""

import functools
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.routes.landscape import CONFIGURATION, DATASET, PASSWORD, STORED, USER_CODE, Landscape
from tests.server.routes.run_requests.conftest import DOMAIN, document_of

DOCUMENT = Path(__file__).parents[3] / "viewer" / "openapi.json"
METHODS = ("get", "put", "post", "patch", "delete")
CSRF = {"X-CSRFToken": "t", "Cookie": "csrftoken=t"}
REMOTE = {"X-Forwarded-For": "203.0.113.9"}
"""What a proxy says of somebody who is not on this machine."""
UNMET = {
    ("PUT", "/api/workspaces/{workspace}/repository"): {409},
    ("POST", "/api/hooks/git/{hook_id}"): {404},
    ("PUT", "/api/workspaces/{workspace}/snapshots/{snapshot_id}/contents"): {409},
    ("GET", "/api/auth/oidc/start"): {404},
    ("GET", "/api/auth/oidc/callback"): {404},
    ("POST", "/api/test-episodes"): {504},
    ("POST", "/api/batch-runs/{batch_id}/complete"): {409},
    ("GET", "/api/runs/{run_id}/slices"): {404},
    ("GET", "/api/comparisons/{comparison_id}"): {404},
    ("GET", "/api/benchmarks/{benchmark_id}"): {404},
    ("GET", "/api/benchmarks/{benchmark_id}/tasks/{task_digest}"): {404},
    ("DELETE", "/api/views/{name}"): {404},
    ("DELETE", "/api/admin/models/{name}"): {404},
}
"""Answers without another provider, a worker that plays an episode in time, a claimed batch run, labels on tasks, a
commit that is synced."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One way to ask: `ground` names whose things, `rule` is the route's where it is left out.

    Where `listed`, those who may not see a thing get an answer without it.
    """

    method: str
    path: str
    ground: str = ""
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    rule: str = ""
    listed: bool = False


@functools.cache
def described() -> dict[str, Any]:
    """Return the OpenAPI document as it is committed; another test holds it fresh. Making it takes two seconds."""
    found: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return found


def operations() -> list[tuple[str, str]]:
    """Return method and path of every route."""
    return [
        (method.upper(), path) for path, known in described()["paths"].items() for method in known if method in METHODS
    ]


def operation(method: str, path: str) -> dict[str, Any]:
    """Return the description of a route."""
    found: dict[str, Any] = described()["paths"][path][method.lower()]
    return found


def bodies(land: Landscape) -> dict[tuple[str, str], Any]:
    """Return a body that works, for every route that needs one."""
    signing_in = {"username": "dee", "password": PASSWORD}
    episode = {"domain_id": DOMAIN, "agent_config": {"model": "builtin/random"}}
    return {
        ("POST", "/auth/login/"): signing_in,
        ("POST", "/auth/logout/"): {"refresh_token": land.sign_in["refresh"]},
        ("POST", "/auth/refresh/"): {"refresh_token": land.sign_in["refresh"]},
        ("POST", "/api/auth/login"): signing_in,
        ("POST", "/api/auth/refresh"): {"refresh_token": land.sign_in["refresh"]},
        ("POST", "/api/auth/logout"): {},
        ("POST", "/api/auth/sign-up"): {"username": "eve", "password": PASSWORD},
        ("POST", "/api/auth/password"): {"old": PASSWORD, "new": "another battery staple"},
        ("POST", "/api/auth/device"): {"device": "laptop"},
        ("POST", "/api/auth/device/token"): {"device_code": "of-nobody"},
        ("PUT", "/api/auth/device/{user_code}"): {"approve": True},
        ("POST", "/api/tokens"): {"name": "CI"},
        ("POST", "/api/teams"): {"name": "Pandas"},
        ("POST", "/api/teams/join"): {"code": land.team_code},
        ("PATCH", "/api/teams/{team_id}"): {"name": "Pandas"},
        ("POST", "/api/teams/{team_id}/transfer"): {"new_owner_user_id": land.bob.user_id},
        ("POST", "/api/workspaces"): {"name": "Pandas"},
        ("PATCH", "/api/workspaces/{workspace}"): {"name": "Pandas"},
        ("POST", "/api/workspaces/{workspace}/members"): {"username": "dee"},
        ("PATCH", "/api/workspaces/{workspace}/members/{user_id}"): {"role": "admin"},
        ("POST", DATASETS): {"file_name": "new.csv", "size": 1, "digest": "0" * 64},
        ("PATCH", f"{DATASETS}/{{dataset}}"): {"name": "pandas"},
        ("POST", f"{DATASETS}/{{dataset}}/rows"): {"run": land.grounds["team"].ids["run_id"]},
        ("PUT", PART): PART_DATA,
        ("POST", IMPORTS): {"run_id": "run-new", "size": 1, "digest": "0" * 64},
        ("PUT", f"{IMPORTS}/{{import_id}}/parts/{{part}}"): DATASET,
        **{
            ("PUT", f"/api/workspaces/{{workspace}}/secrets/{scope}/{{name}}"): {"value": "of a test"}
            for scope in ("workspace", "personal")
        },
        ("PUT", "/api/workspaces/{workspace}/repository"): {"url": "https://github.com/a/new"},
        ("PUT", "/api/workspaces/{workspace}/repository/credentials"): {"token": "of-a-test"},
        ("POST", "/api/workspaces/{workspace}/syncs"): {},
        ("POST", f"{SNAPSHOTS}"): {"digest": "0" * 32},
        ("PUT", f"{SNAPSHOTS}/{{snapshot_id}}/contents"): b"",
        ("POST", "/api/workspaces/{workspace}/schedules"): {
            "name": "other",
            "configuration": CONFIGURATION,
            "trigger": "sync",
        },
        ("PATCH", "/api/workspaces/{workspace}/schedules/{schedule}"): {"name": "renamed"},
        ("POST", "/api/workspaces/{workspace}/notifications"): {"url": "https://8.8.8.8/hook"},
        ("POST", "/api/domains"): document_of("new-game", land.world.url),
        ("POST", "/api/domains/{domain_id}/protocols"): {"episodes": 2},
        ("PATCH", "/api/domains/{domain_id}"): {"detail": "changed"},
        ("POST", "/api/environments"): {"name": "Words", "github_url": "https://github.com/a/new"},
        ("POST", "/api/runs"): land.body(num_episodes=1),
        ("POST", "/api/runs/estimate"): {
            "kind": "rollout",
            "workspace": land.grounds["workspace"].ids["workspace"],
            "configuration": CONFIGURATION,
        },
        ("POST", "/api/runs/forecast"): {
            "runs": [{"kind": "benchmark", "benchmark": "eliza-format", "model": "builtin/random"}]
        },
        ("POST", "/api/models/check"): {"model": "builtin/random"},
        ("PUT", "/api/admin/models/{name}"): {"parallel": 2},
        ("PATCH", "/api/runs/{run_id}"): {"tags": ["changed"]},
        ("POST", "/api/reviews"): {"runs": [land.grounds["solo"].ids["run_id"]]},
        ("PATCH", "/api/reviews/{round_id}"): {"name": "changed"},
        ("POST", "/api/reviews/{round_id}/items/{number}/verdicts"): {"answer": "right"},
        ("POST", "/api/episodes/{episode_id}/verdicts"): {"grader": "right"},
        ("POST", "/api/episodes/{episode_id}/calls/{seq}/again"): {},
        ("POST", "/api/runs/{run_id}/scans"): {"question": "Why?", "model": "builtin/random"},
        ("POST", "/api/runs/{run_id}/scans/forecast"): {"question": "Why?", "model": "builtin/random"},
        ("PUT", "/api/views/{name}"): {"search": "benchmark=words"},
        ("POST", "/api/test-episodes"): episode,
        ("POST", "/api/batch-runs"): {"env_id": "env-solo"},
        ("POST", "/api/batch-runs/{batch_id}/complete"): {"model_results": []},
        ("POST", "/api/admin/users"): {"username": "eve"},
        ("POST", "/api/admin/users/{user_id}/role"): {"role": "admin"},
        ("POST", "/api/admin/users/{user_id}/budget"): {"budget_usd": 5.0},
        ("POST", "/api/admin/keys/rotate"): {},
    }


IMPORTS = "/api/run-imports"
DATASETS = "/api/workspaces/{workspace}/datasets"
SNAPSHOTS = "/api/workspaces/{workspace}/snapshots"
PART = f"{DATASETS}/{{dataset}}/versions/{{number}}/parts/{{part}}"
PART_DATA = DATASET + b"more?,2\n"
CLOSELY = {
    *("/v1/runs/{run_id}", "/api/runs/{run_id}/queue", "/api/runs/{run_id}/episodes"),
    *("/api/runs/{run_id}", "/api/episodes/{episode_id}"),
}
"""Routes that are read in every state of a run; for others it is enough whose it is."""
QUERIES: dict[tuple[str, str], dict[str, Any]] = {
    ("GET", "/api/leaderboards"): {"domain_ids": f"{DOMAIN},draft-game,team-game,old-game,none"},
    ("GET", "/api/runs/{run_id}/slices"): {"by": "task"},
    ("GET", "/api/runs/{run_id}/search"): {"text": "word"},
    ("GET", "/api/search"): {"text": "word"},
    ("PUT", PART): {"digest": hashlib.sha256(PART_DATA).hexdigest()},
    ("GET", "/api/workspaces/{workspace}/secrets/missing"): {"name": STORED},
    ("GET", "/api/workspaces/{workspace}/schedule-times"): {"cron": "@daily"},
}
HEADERS = {
    ("POST", "/auth/login/"): CSRF,
    ("GET", "/metrics"): REMOTE,
}
GROUNDS = {
    ("POST", "/api/test-episodes"): "public",
    ("POST", "/api/batch-runs"): "solo",
    ("POST", "/api/runs/estimate"): "workspace",
    ("POST", "/api/reviews"): "solo",
}
"""Whose things a route is asked for, whose path does not say it."""


def default_asks(land: Landscape, method: str, path: str) -> list[Ask]:
    """Return the ways in which a route is asked: for the things of everybody that fit into its path."""
    key = (method, path)
    wanted = operation(method, path)
    body = bodies(land).get(key)
    if "requestBody" in wanted and body is None:
        return []
    headers = dict(HEADERS.get(key, {}))
    if path == "/auth/jwt/":
        headers["Cookie"] = f"mesocosm_session={land.sign_in['web']}"
    query = dict(QUERIES.get(key, {}))
    names = set(re.findall(r"{(\w+)}", path))
    if path in ("/api/compare", "/api/export"):
        shown = land.grounds["public"].ids["run_id"]
        return [
            Ask(method, path, ground, {"run": [shown, land.grounds[ground].ids["run_id"]]})
            for ground in ("solo", "team", "shared run")
        ]
    if path == "/api/runs/baseline":
        return [
            Ask(method, path, ground, {"run": [land.grounds[ground].ids["run_id"]]}, listed=True)
            for ground in ("public", "solo", "team", "shared run")
        ]
    if not names - set(common(land, path)):
        return [Ask(method, path, GROUNDS.get(key, ""), query, body, headers)]
    fitting = [name for name, ground in land.grounds.items() if names <= {*ground.ids, *common(land, path)}]
    if method == "GET" and path not in CLOSELY:
        fitting = [name for name in fitting if name not in ("waiting", "cancelled", "test", "guest")]
    elif method != "GET":
        fitting = [name for name in fitting if name != "test"]
    return [Ask(method, path, name, query, body, headers) for name in fitting]


def common(land: Landscape, path: str) -> dict[str, str]:
    """Return values of parameters that are nobody's own."""
    user = land.bob if path.startswith(("/api/teams", "/api/workspaces")) else land.cid
    return {
        "user_id": str(user.user_id),
        "technique_id": "memory",
        "version": "2",
        "comparison_id": "none",
        "kind": "token",
        "user_code": USER_CODE,
        "benchmark_id": "none",
        "task_digest": "none",
        **({"name": "mine"} if path.startswith("/api/views/") else {}),
        **({"name": "openai/added"} if path.startswith("/api/admin/models/") else {}),
    }


def filled(land: Landscape, ask: Ask) -> str:
    """Return the path of a request."""
    ids = {**common(land, ask.path), **(land.grounds[ask.ground].ids if ask.ground else {})}
    return re.sub(r"{(\w+)}", lambda found: ids[found[1]], ask.path)


def crossing(land: Landscape) -> list[Ask]:
    """Return requests that name somebody's things in the query or the body."""
    solo, public = (land.grounds[name].ids for name in ("solo", "public"))
    run = functools.partial(land.body, num_episodes=1)
    agent = {"agent_config": {"model": "builtin/random"}}

    def listing(path: str, ground: str, query: dict[str, Any]) -> Ask:
        return Ask("GET", path, ground, query, listed=True)

    return [
        Ask("POST", "/api/runs", "team", body=run(team_id=land.team), rule="holder"),
        Ask("POST", "/api/runs", "solo", body=run(domain_id="draft-game", env_id="env-solo"), rule="holder"),
        Ask("POST", "/api/runs", "team", body=run(domain_id="team-game"), rule="holder"),
        Ask("POST", "/api/test-episodes", "solo", body={"domain_id": "draft-game", **agent}, rule="insider"),
        Ask("POST", "/api/test-episodes", "team", body={"domain_id": "team-game", **agent}, rule="insider"),
        Ask("POST", "/api/runs", "solo", body=run(env_id="env-solo"), rule="holder"),
        Ask("POST", "/api/batch-runs", "team", body={"env_id": "env-team"}, rule="insider"),
        Ask("POST", "/api/environments", "team", rule="insider",
            body={"name": "Words", "github_url": "https://github.com/a/new", "team_id": land.team}),
        Ask("GET", "/api/environments", "team", {"team_id": land.team}, rule="insider"),
        Ask("GET", "/api/environments", "", {"scope": "all"}, rule="admin"),
        listing("/api/environments", "solo", {"domain_id": "draft-game"}),
        listing("/api/environments", "solo", {"cursor": "env-solo"}),
        Ask("GET", "/api/runs", "team", {"team": land.team}, rule="reader"),
        Ask("GET", "/api/runs", "workspace", {"workspace": land.grounds["workspace"].ids["workspace"]}, rule="insider"),
        *(listing("/api/runs", "shared run", {"whose": whose}) for whose in ("mine", "team", "workspace", "public")),
        listing("/api/gallery/runs", "shared run", {"sort": "newest"}),
        *(listing("/api/runs", "solo", query) for query in ({"environment": "env-solo"}, {"benchmark": "draft-game"})),
        listing("/api/domains", "solo", {"published": False, "include_archived": True}),
        Ask("GET", "/api/gallery/runs", "solo", {"domain_id": "draft-game"}),
        listing("/api/gallery/runs", "solo", {"sort": "newest", "cursor": solo["run_id"]}),
        listing("/api/gallery/runs", "public", {"domain_id": DOMAIN}),
        listing("/api/batch-runs", "solo", {"env_id": "env-solo"}),
        *(listing("/api/runs", "solo", {name: "canary-solo"}) for name in ("q", "tag", "group")),
        listing("/api/limits", "team", {"team_id": land.team}),
        Ask("GET", "/api/compare", "solo", {"run": [solo["run_id"], public["run_id"]]}),
        Ask("GET", "/api/export", "solo", {"run": solo["run_id"]}),
    ]  # fmt: skip
