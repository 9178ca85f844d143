"""What people of another workspace learn and change with ids of ours, on every route, in paths, queries and bodies.

Routes that are not part of the OpenAPI document are asked as well: those of older clients and of the `osmosis` program.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from fastapi.routing import APIRoute
from tests.server.routes.conftest import Person
from tests.server.routes.fillings import HEADERS, QUERIES, bodies, common
from tests.server.routes.landscape import ADDRESS, HUSHED, NOBODY_READS, SOLO, STORED, TEAM, Landscape, open_landscape
from tests.server.routes.run_requests.conftest import PROMPT, World
from tests.server.routes.test_access import FAILED_WORDS, begun, elsewhere, without

from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.server import app
from mesocosm.server.auth import passwords
from mesocosm.server.routes import system
from mesocosm.store.snapshot_uploads import SnapshotUpload
from mesocosm.store.workspaces import ROLES

HOME = "Mallory's"
CLI = "/api/cli/"
METHODS = {"GET", "PUT", "POST", "PATCH", "DELETE"}
KINDS = {
    "run": ("run_id", "workspace_run", "batch_id"),
    "episode": ("episode_id", "run_id"),
    "data": ("dataset",),
    "snapshot": ("snapshot_id",),
    "workspace": ("workspace",),
    "team": ("team_id",),
    "env": ("environment_id",),
    "domain": ("domain_id",),
    "session": ("import_id", "session_id"),
    "import": ("import_id",),
    "upload": ("dataset",),
    "user": ("user_id",),
    "comparison": ("run_id",),
    "other": ("other_id", "episode_id", "run_id"),
    "round": ("round_id",),
    "commit": ("commit",),
    "cursor": ("run_id", "dataset", "snapshot_id", "import_id", "environment_id", "schedule", "message_id"),
}
"""Whose ids fit a parameter or a field, by a part of its name; into others go words."""


@dataclass(frozen=True)
class Attempt:
    """One request."""

    method: str
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """Everything that the request says, which an answer may repeat."""
        body = self.body.decode("latin-1") if isinstance(self.body, bytes) else json.dumps(self.body)
        return " ".join((self.path, json.dumps(self.query), body, *self.headers.values()))


class Tenants:
    """The landscape, and a workspace beside it with people of every role."""

    def __init__(self, land: Landscape) -> None:
        self.land = land
        store = land.service.store
        self.people: dict[str, Person] = {role: land.member(f"mallory-{role}") for role in ROLES}
        made = store.workspaces.add(HOME, self.people["owner"].user_id)
        assert made is not None
        self.home = made.id
        for role in set(ROLES) - {"owner"}:
            store.workspaces.add_member(made.id, self.people[role].user_id or 0, role)
        self.people |= {name: land.people[name] for name in ("anonymous", "guest", "member")}
        # What is theirs, so that ids of ours come where only the rest of a request would be refused.
        self.rollout = self._rollout(self.home, "mine")
        self.own = {"workspace": self.home, **land.dataset(self.home, "mine"), "snapshot_id": self.rollout["snapshot"]}
        workspace = land.grounds["workspace"].ids["workspace"]
        evaluation = land.ann.post("/api/runs", self._rollout(workspace, TEAM)).json()["id"]
        land.keep()
        self.before = land.content()
        closed = [ground for name, ground in land.grounds.items() if not ground.open and name not in ("guest", "token")]
        known = [{"workspace": workspace, "run_id": evaluation}, *(ground.ids for ground in closed)]
        self.grounds = [{"user_id": str(land.ann.user_id), "commit": "c" * 40, **ids} for ids in known]
        self.ids: dict[str, list[str]] = {}
        for name, value in itertools.chain.from_iterable(ground.items() for ground in self.grounds):
            if value not in self.ids.setdefault(name, []):
                self.ids[name].append(value)
        self.workspace = self.ids["workspace"][0]
        told = ("run_id", "workspace", "dataset", "snapshot_id", "schedule", "notification", "message_id", "import_id")
        self.ours = [value for name in (*told, "team_id", "hook_id", "session_id") for value in self.ids[name]]
        self.words = [
            *(NOBODY_READS, SOLO, TEAM, HUSHED, PROMPT, FAILED_WORDS, land.team_code, str(land.place)),
            *(ADDRESS.partition("//")[2].partition("/")[0], *self.ours),
        ]

    def _rollout(self, workspace: str, name: str) -> dict[str, str]:
        """Return the request for an evaluation of a rollout of a workspace, of which a snapshot is uploaded."""
        store, config = self.land.service.store, f"configs/eval/{name}.toml"
        table = f'rollout = "{name}"\nentrypoint = "main.py"\nmodel_path = "builtin/random"\ndataset = "{name}"\n'
        files = {f"rollouts/{name}/main.py": b"", config: f"[experiment]\n{table}".encode()}
        listed = [SnapshotFile(path, digest_bytes(data), len(data)) for path, data in files.items()]
        snapshot = store.snapshots.add(listed, lambda file: files[file.path])
        upload = store.snapshot_uploads.begin(SnapshotUpload(id="", workspace_id=workspace, digest=snapshot.digest))
        store.snapshot_uploads.complete(upload, snapshot)
        return {"kind": "rollout", "workspace": workspace, "configuration": config, "snapshot": upload.id}

    def fitting(self, name: str) -> list[str]:
        """Return the ids that fit a parameter or field, or words."""
        found = [value for part, names in KINDS.items() if part in name for key in names for value in self.ids[key]]
        return [*dict.fromkeys(found)] or [TEAM, SOLO]

    def paths(self, path: str) -> Iterator[tuple[dict[str, str], str]]:
        """Yield ids of ours for the parameters of a path, in our workspace and in theirs, and the path with them."""
        names, seen = _names(path), set()
        for ground, workspace in itertools.product(self.grounds, (self.workspace, TEAM, self.home)):
            first = {name: self.fitting(name)[0] for name in names}
            here = {**first, **common(self.land, path), **ground, "workspace": workspace}
            fitted = [here]
            if path.startswith(CLI):
                # A run is called `name` there.
                kinds = {name: self.fitting("run" if name == "name" else name) for name in names}
                fitted = [{**here, name: value} for name in names for value in [*kinds[name], TEAM]]
            for ids in fitted or [here]:
                filled = _filled(path, ids)
                if filled not in seen:
                    seen.add(filled)
                    yield {name: ids[name] for name in names}, filled

    def unknown(self, path: str, ids: dict[str, str]) -> tuple[dict[str, str], str]:
        """Return ids of the same form that nothing has, in the same workspace if that is theirs, and the path."""
        own = {*common(self.land, path), "number", "part", "seq"}
        nowhere = {
            name: value if name in own or value == self.home else elsewhere(value) for name, value in ids.items()
        }
        return nowhere, _filled(path, nowhere)

    def attempts(self, method: str, route: APIRoute) -> Iterator[tuple[str, Attempt]]:
        """Yield the requests of a route and who sends them, empty for everybody."""
        path, query = route.path, dict(QUERIES.get((method, route.path), {}))
        body = {**bodies(self.land), **_hidden_bodies(self)}.get((method, path.replace("/v1/", "/api/")))
        further = [self.rollout] if path in ("/api/runs", "/api/runs/estimate") else []
        for headers in self.scopes(path):
            given = {**HEADERS.get((method, path), {}), **headers}
            tried = [Attempt(method, filled, query, body, given) for _, filled in self.paths(path)]
            yield from (("", one) for one in tried)
            start = tried[-1]
            if set(_names(path)) <= set(self.own):
                start = replace(start, path=_filled(path, self.own))
            for name in _query_names(route.dependant) - {"limit", "scope"}:
                for value in self.fitting(name):
                    yield "owner", replace(start, query={**query, name: value})
            for changed in itertools.chain.from_iterable(self.bodies(route, one) for one in (body, *further)):
                yield "owner", replace(start, body=changed)

    def bodies(self, route: APIRoute, body: Any) -> Iterator[Any]:
        """Yield a body with ids of ours in each of its fields."""
        if not isinstance(body, dict):
            return
        yield body
        fields = set(body)
        for one in route.dependant.body_params:
            for kind in [one.field_info.annotation, *getattr(one.field_info.annotation, "__args__", ())]:
                fields |= set(getattr(kind, "model_fields", {}))
        for name in sorted(fields - {"username", "password", "refresh_token", "old", "new"}):
            for value in self.fitting(name):
                yield {**body, name: [value] if isinstance(body.get(name), list) else value}

    def scopes(self, path: str) -> list[dict[str, str]]:
        """Return the headers that a request is sent with."""
        if not path.startswith(CLI):
            return [{}]
        theirs = {"X-Osmosis-Workspace": self.home}
        return [{"X-Osmosis-Workspace": self.workspace}, {"X-Osmosis-Git": f"a/{TEAM}"}, theirs]

    def send(self, person: Person, attempt: Attempt) -> httpx.Response:
        """Return the answer to a request."""
        if attempt.path.endswith("/live"):
            return begun(self.land, attempt.path, {"Authorization": f"Bearer {person.token}"} if person.token else {})
        given: dict[str, Any] = {"headers": dict(attempt.headers)}
        if attempt.body is not None:
            given["content" if isinstance(attempt.body, bytes) else "json"] = attempt.body
        return person.request(attempt.method, attempt.path, params=attempt.query, **given)

    def leaked(self, attempt: Attempt, answer: httpx.Response) -> list[str]:
        """Return what an answer reveals that the request did not say."""
        text = answer.text + " ".join(answer.headers.values())
        return [word for word in self.words if word in text and word not in attempt.said]

    def changed(self) -> list[Any]:
        """Return rows of ours that are gone or changed, and new ones that name something of ours; undo all changes."""
        after = self.land.content()
        if after == self.before:
            return []
        self.land.restore()
        theirs, found = (self.home, self.own["dataset"], HOME, "mallory", "cid", "dee"), list[Any]()
        for table, rows in self.before.items():
            gone = [row for row in rows if row not in after[table] and not any(one in str(row) for one in theirs)]
            new = [row for row in after[table] if row not in rows and any(one in str(row) for one in self.ours)]
            # Guests are nobody's, and a program belongs to whoever confirms its code. An import keeps which id its run
            # has elsewhere.
            found += [(table, row) for row in ([] if table in ("guests", "device_logins") else gone)]
            found += [(table, row) for row in ([] if table == "run_imports" else new)]
        return found


def _names(path: str) -> list[str]:
    """Return the names of the parameters of a path."""
    return re.findall(r"{(\w+)(?::path)?}", path)


def _filled(path: str, ids: Mapping[str, str]) -> str:
    """Return a path with values for its parameters."""
    return re.sub(r"{(\w+)(?::path)?}", lambda found: ids[found[1]], path)


def _query_names(dependant: Any) -> set[str]:
    """Return the names of the parameters of queries, those of what a route depends on too."""
    below = (_query_names(one) for one in dependant.dependencies)
    return {str(one.alias) for one in dependant.query_params}.union(*below)


def _hidden_bodies(tenants: Tenants) -> dict[tuple[str, str], Any]:
    """Return bodies for routes outside of the OpenAPI document."""
    run, dataset = tenants.ids["run_id"][0], tenants.ids["dataset"][0]
    experiment = {"rollout": TEAM, "entrypoint": "main.py", "model_path": "builtin/random", "dataset": TEAM}
    imported = {"schema_version": 1, "local_run_id": run, "manifest_digest": "0" * 64, "run": {"name": "mine"}}
    agent = {"agent_config": {"model": "builtin/random"}}
    return {
        ("POST", "/api/teams/join"): {"code": "nothing-here"},
        ("POST", "/api/runs"): tenants.land.body(num_episodes=1),
        ("POST", "/api/test/episode"): {"domain_id": "draft-game", **agent},
        ("POST", f"{CLI}datasets"): {
            "file_name": "x.csv",
            "file_size": 1,
            "extension": "csv",
            "overwrite_dataset_id": dataset,
        },
        ("POST", f"{CLI}environment-secrets"): {"name": STORED, "value": "mine"},
        ("DELETE", f"{CLI}environment-secrets"): {"name": STORED},
        ("POST", f"{CLI}eval-runs"): {"experiment_config": experiment},
        ("POST", f"{CLI}eval-runs/imports"): {**imported, "files": []},
        ("POST", f"{CLI}eval-runs/imports/{{session}}/uploads"): {"paths": ["run.json"]},
        ("POST", f"{CLI}eval-runs/imports/{{session}}/uploads/complete"): {"path": "run.json"},
        ("POST", f"{CLI}eval-runs/{{name:path}}/samples/download-urls"): {"items": [{"path": "samples.jsonl"}]},
        ("POST", f"{CLI}eval-runs/{{name:path}}/retry"): {},
        ("POST", f"{CLI}{{path:path}}"): {},
    }


def _routes() -> list[tuple[str, APIRoute]]:
    """Return the method and the route of all that a server answers but pages."""
    found: list[tuple[str, APIRoute]] = []

    def walk(router: Any) -> None:
        for route in router.routes:
            if isinstance(route, APIRoute):
                found.extend((method, route) for method in sorted(METHODS.intersection(route.methods or ())))
            elif (included := getattr(route, "original_router", None)) is not None:
                walk(included)

    for module in (system, *app.EAGER, *app._nouns()):
        walk(module.router)
    return found


ROUTES = _routes()


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory, empty_store: Any) -> Iterator[Tenants]:
    """Two tenants; whoever changes them restores them."""
    with pytest.MonkeyPatch.context() as patch, start_blocking_portal() as portal:
        for name, value in (("MEMORY_KIB", 8), ("PASSES", 1), ("LANES", 1)):
            patch.setattr(passwords, name, value)
        world = World()
        land, close = open_landscape(tmp_path_factory.mktemp("tenants") / "results", empty_store, portal, world)
        yield Tenants(land)
        close()
        world.close()


def test_routes_outside_of_the_document_are_among_those_asked() -> None:
    paths = {route.path for _, route in ROUTES}
    assert {f"{CLI}eval-runs", "/v1/runs/{run_id}/traces", "/auth/login/", "/api/workspaces"} <= paths


@pytest.mark.parametrize(("method", "route"), ROUTES, ids=[f"{method} {route.path}" for method, route in ROUTES])
def test_people_of_another_workspace_read_and_change_nothing(tenants: Tenants, method: str, route: APIRoute) -> None:
    asked = 0
    for who, attempt in tenants.attempts(method, route):
        for name in [who] if who else tenants.people:
            answer = tenants.send(tenants.people[name], attempt)
            told = (name, attempt, answer.status_code, answer.text[:500])
            assert answer.status_code < 500, told
            assert not (leaked := tenants.leaked(attempt, answer)), (leaked, *told)
            if method != "GET":
                assert not (changed := tenants.changed()), (changed, *told)
            asked += 1
    assert asked


@pytest.mark.parametrize(
    "path", sorted({route.path for method, route in ROUTES if method == "GET" and "{" in route.path})
)
def test_ids_of_ours_and_ids_that_nothing_has_are_answered_alike(tenants: Tenants, path: str) -> None:
    for headers in tenants.scopes(path):
        if headers and tenants.home not in headers.values():
            continue
        for ids, filled in tenants.paths(path):
            nowhere, other = tenants.unknown(path, ids)
            if path.endswith("/live") or other == filled:
                continue
            query = QUERIES.get(("GET", path), {})
            for person in ("owner", "viewer"):
                told = [
                    without(tenants.send(tenants.people[person], Attempt("GET", one, query, None, headers)), known)
                    for one, known in ((filled, ids), (other, nowhere))
                ]
                assert told[0] == told[1], (person, filled, other)
