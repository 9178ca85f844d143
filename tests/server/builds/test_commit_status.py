"""Statuses of commits at strict doubles of the hosts' documented APIs, with TLS on loopback."""

import asyncio
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from pydantic import SecretStr
from sqlalchemy import select, update
from tests.git_host import PEM
from tests.server.conftest import Records

from mesocosm.core.failure import InvalidInput
from mesocosm.core.run import Counts, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.server.builds.commit_status import PAUSES_S, kind_of_host, send_commit_status, status_request
from mesocosm.server.builds.git_credentials import TOKEN as TOKEN_NAME
from mesocosm.server.builds.git_credentials import credential_holder
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.workspace_secrets import set_secret
from mesocosm.store import open_store
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.repositories import Repository, Sync, SyncState, new_repository
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.tenancy import commit_statuses

TOKEN = "swordfish-0123456789"
COMMIT = "a" * 40
_PATHS = {
    "github": re.compile(r"/api/v3/repos/you/evals/statuses/([0-9a-f]{40})"),
    "gitea": re.compile(r"/api/v1/repos/you/evals/statuses/([0-9a-f]{40})"),
    "gitlab": re.compile(r"/api/v4/projects/you%2Fevals/statuses/([0-9a-f]{40})"),
}
_STATES = {
    "github": {"error", "failure", "pending", "success"},
    "gitea": {"error", "failure", "pending", "success", "warning", "skipped"},
    "gitlab": {"pending", "running", "success", "failed", "canceled", "skipped"},
}
_FIELDS = {
    "github": {"state", "target_url", "description", "context"},
    "gitea": {"state", "target_url", "description", "context"},
    "gitlab": {"state", "ref", "name", "context", "target_url", "description", "coverage", "pipeline_id"},
}
_LONGEST = {"github": 140, "gitea": 255, "gitlab": 255}


class _Host(BaseHTTPRequestHandler):
    """One of three hosts that takes only what its documentation says; `kept` has the statuses that it took."""

    protocol_version = "HTTP/1.1"
    kind: ClassVar[str] = ""
    kept: ClassVar[list[dict[str, Any]]]
    faults: ClassVar[list[tuple[int, dict[str, str]]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.faults:
            status, fields = self.faults.pop(0)
            self._answer(status, {"message": f"not now, {self.headers.get('authorization', '')}"}, fields)
            return
        self._answer(*self._judged(body))

    def _judged(self, body: bytes) -> tuple[int, Any]:
        found = _PATHS[self.kind].fullmatch(self.path)
        given = {
            "github": (self.headers.get("authorization"), f"Bearer {TOKEN}"),
            "gitea": (self.headers.get("authorization"), f"token {TOKEN}"),
            "gitlab": (self.headers.get("private-token"), TOKEN),
        }[self.kind]
        if not self.headers.get("user-agent"):
            return 403, {"message": "Request forbidden by administrative rules"}
        if given[0] != given[1]:
            return 401, {"message": "Bad credentials"}
        if found is None:
            return 404, {"message": "Not Found"}
        if self.headers.get("content-type") != "application/json":
            return 415, {"message": "Problems parsing JSON"}
        fields = json.loads(body)
        if found[1] != COMMIT:
            return 422, {"message": f"No commit found for SHA: {found[1]}"}
        if set(fields) - _FIELDS[self.kind] or fields.get("state") not in _STATES[self.kind]:
            return 422, {"message": "Validation Failed", "errors": [{"field": "state", "code": "invalid"}]}
        if len(fields.get("description", "")) > _LONGEST[self.kind]:
            return 422, {"message": "description is too long"}
        if not re.fullmatch(r"https?://\S{1,240}", fields.get("target_url", "https://x")):
            return 422, {"message": "target_url must use http(s) scheme"}
        if self.kind == "gitlab" and self.kept and self.kept[-1]["state"] == fields["state"] == "pending":
            words = "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via ...)"
            return 400, {"message": words}
        self.kept.append(fields)
        return 201, {"id": len(self.kept), **fields}

    def _answer(self, status: int, document: Any, fields: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(data)), **(fields or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_words: object) -> None:
        return


class World:
    """A server whose workspace is connected with a repository of a host, and one run of a commit of it."""

    def __init__(self, service: Service, records: Records, place: str, host: type[_Host]) -> None:
        self.service = service
        self.records = records
        self.host = host
        store = service.store
        workspace = store.workspaces.add("Reefs", store.users.add("ada").id)
        assert workspace is not None
        self.workspace_id = workspace.id
        self.repository = new_repository(workspace.id, f"{place}/you/evals", f"https://{place}/you/evals")
        assert store.repositories.connect(self.repository) is not None
        self.snapshot = store.snapshots.add([], lambda _: b"").digest
        store.syncs.add(Sync(repository_id=self.repository.id, number=0, branch="main"))
        claimed = store.syncs.claim("worker", 30.0)
        assert claimed is not None
        over = {"state": SyncState.SUCCESS, "commit_id": COMMIT, "snapshot": self.snapshot, "ended_at": 1.0}
        assert store.syncs.save(msgspec.structs.replace(claimed, **over))

    def set_token(self, token: str = TOKEN) -> None:
        value = SecretStr(f"x-access-token:{token}")
        set_secret(self.service, self.workspace_id, credential_holder(self.repository.id), TOKEN_NAME, value, 1)

    def submit(self, **given: Any) -> str:
        """Queue a run of the commit; return its id."""
        run = self.records.run(status=RunStatus.PENDING)
        fields: dict[str, Any] = {
            "run_id": run.id,
            "actor": "user:1",
            "model": "m",
            "created_at": time.time(),
            "kind": "rollout",
            "workspace_id": self.workspace_id,
            "commit_id": COMMIT,
            "snapshot": self.snapshot,
            "configuration": "configs/eval/hard.toml",
            "branch": "main",
            **given,
        }
        assert self.service.store.queue.admit(RunRequest(**fields), run, AdmissionTerms()) is None
        return run.id

    def end(self, run_id: str, status: RunStatus, **given: Any) -> None:
        run = self.service.store.runs.get(run_id)
        run.status, run.counts = status, Counts(planned=40)
        for name, value in given.items():
            setattr(run, name, value)
        self.service.store.runs.save(run)
        self.service.store.queue.end(run_id)

    def send(self) -> bool:
        """Send one status as a worker does; return whether one was due."""
        status = self.service.store.commit_statuses.claim("worker", 60.0)
        if status is not None:
            asyncio.run(send_commit_status(self.service, status))
        return status is not None

    def due(self) -> float:
        """Return when the only status is sent again, as UNIX time."""
        return float(self.service.store.database.scalar(select(commit_statuses.c.next_at)) or 0.0)

    def hurry(self) -> None:
        """Let it be sent now."""
        self.service.store.database.execute(update(commit_statuses).values(next_at=0.0))

    @property
    def error(self) -> str:
        found: Repository | None = self.service.store.repositories.of(self.workspace_id)
        assert found is not None
        return found.status_error


@pytest.fixture
def open_world(
    tmp_path: Path,
    put_empty_store: Callable[[Path], Path],
    records: Records,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., World]]:
    """Return what opens a server beside a host of a kind."""
    monkeypatch.setenv("GIT_SSL_CAINFO", str(PEM))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(PEM)
    store = open_store(put_empty_store(tmp_path / "results"))
    servers = []

    def opened(kind: str = "github", *, known: bool = True, **given: Any) -> World:
        handler = type("Host", (_Host,), {"kind": kind, "kept": [], "faults": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        servers.append((server, thread))
        place = f"127.0.0.1:{server.server_address[1]}"
        kinds = (f"{place}={kind}",) if known else ()
        settings = read_settings(
            data_dir=tmp_path / "data",
            **{"git_hosts": (place,), "git_host_kinds": kinds, "public_url": "https://bench.example", **given},
        )
        settings.data_dir.mkdir()
        return World(Service(settings, store), records, place, handler)

    yield opened
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()
    store.close()


SCORE = MetricResult("score", "mean", 0.875, 0.7389, 0.9454, "wilson", 40, 40, 40, primary=True)


@pytest.mark.parametrize("kind", ["github", "gitea", "gitlab"])
def test_a_host_is_told_that_a_run_is_pending_and_its_score(kind: str, open_world: Callable[..., World]) -> None:
    world = open_world(kind)
    world.set_token()
    run_id = world.submit()
    assert world.send()
    assert not world.send()
    world.end(run_id, RunStatus.FINISHED, metrics=(SCORE,))
    assert world.send()
    assert not world.send()
    assert [one["state"] for one in world.host.kept] == ["pending", "success"]
    last = world.host.kept[-1]
    assert last["description"] == "score 0.8750 [0.7389, 0.9454], n=40/40"
    assert last["target_url"] == f"https://bench.example/runs/{run_id}"
    assert last["name" if kind == "gitlab" else "context"] == "mesocosm/hard"
    assert world.error == ""


@pytest.mark.parametrize(
    ("kind", "status", "state", "words"),
    [
        ("github", RunStatus.FAILED, "failure", "the evaluation failed"),
        ("gitlab", RunStatus.FAILED, "failed", "the evaluation failed"),
        ("gitea", RunStatus.STOPPED, "error", "stopped: 1 of 40 episodes"),
        ("gitlab", RunStatus.PARTIAL, "canceled", "incomplete: 1 of 40 episodes"),
    ],
)
def test_an_end_without_a_score_is_no_success(
    kind: str, status: RunStatus, state: str, words: str, open_world: Callable[..., World]
) -> None:
    world = open_world(kind)
    world.set_token()
    world.end(world.submit(), status, error="swordfish-of-the-run")
    assert world.send()
    (told,) = world.host.kept
    assert (told["state"], told["description"]) == (state, words)


def test_a_host_that_does_not_answer_is_asked_again_until_it_does(open_world: Callable[..., World]) -> None:
    world = open_world()
    world.set_token()
    world.submit()
    world.host.faults += [(503, {}), (429, {"retry-after": "90"})]
    for status, wait in ((503, PAUSES_S[0]), (429, 90.0)):
        before = time.time()
        assert world.send()
        assert f"answered {status} to the status of a commit: not now" in world.error
        assert TOKEN not in world.error
        assert not world.send()
        assert before + wait <= world.due() <= time.time() + wait
        world.hurry()
    assert world.send()
    assert [one["state"] for one in world.host.kept] == ["pending"]
    assert world.error == ""


def test_a_host_that_never_answers_is_given_up_and_told_the_end_later(open_world: Callable[..., World]) -> None:
    world = open_world()
    world.set_token()
    run_id = world.submit()
    world.host.faults += [(500, {})] * (len(PAUSES_S) + 1)
    sent = 0
    while world.send():
        sent += 1
        world.hurry()
    assert (sent, world.host.faults) == (len(PAUSES_S) + 1, [])
    world.end(run_id, RunStatus.FINISHED, metrics=(SCORE,))
    assert world.send()
    assert [one["state"] for one in world.host.kept] == ["success"]


def test_a_refused_token_is_told_and_not_tried_again(open_world: Callable[..., World]) -> None:
    world = open_world()
    world.set_token("another-0123456789")
    run_id = world.submit()
    assert world.send()
    assert not world.send()
    assert "answered 401 to the status of a commit: Bad credentials. The token needs the right" in world.error
    world.set_token()
    world.end(run_id, RunStatus.FAILED)
    assert world.send()
    assert [one["state"] for one in world.host.kept] == ["failure"]
    assert world.error == ""


def test_gitlab_has_a_status_already(open_world: Callable[..., World]) -> None:
    world = open_world("gitlab")
    world.set_token()
    run_id = world.submit()
    world.send()
    world.end(run_id, RunStatus.STOPPED)
    assert world.service.store.queue.reopen(run_id)
    run = world.service.store.runs.get(run_id)
    run.status = RunStatus.PENDING
    world.service.store.runs.save(run)
    assert world.send()
    assert (world.error, len(world.host.kept)) == ("", 1)


@pytest.mark.parametrize(
    "case", ["no token", "unknown kind", "another snapshot", "another commit", "disconnected", "superseded"]
)
def test_nobody_is_told_of(case: str, open_world: Callable[..., World]) -> None:
    world = open_world(known=case != "unknown kind")
    if case != "no token":
        world.set_token()
    given: dict[str, dict[str, Any]] = {
        "another snapshot": {"snapshot": None},
        "another commit": {"commit_id": "b" * 40},
    }
    world.submit(**given.get(case, {}), created_at=1.0)
    if case == "disconnected":
        world.service.store.repositories.disconnect(world.repository.id)
    if case == "superseded":
        world.submit(created_at=2.0)
    sent = 0
    while world.send():
        sent += 1
    assert sent == 1 + (case == "superseded")
    assert len(world.host.kept) == (case == "superseded")


def test_a_host_that_the_operator_does_not_allow_any_more_is_not_told(open_world: Callable[..., World]) -> None:
    world = open_world(git_hosts=("127.0.0.1",))
    world.set_token()
    world.submit()
    assert world.send()
    assert world.host.kept == []


def test_the_kind_of_a_host_is_known_or_set() -> None:
    settings = read_settings(git_host_kinds=("git.example=gitlab", "github.com=gitea", "git.example:8443=github"))
    kinds = {
        "https://github.com/a/b": "gitea",
        "https://gitlab.com/a/b": "gitlab",
        "ssh://git@codeberg.org:2222/a/b": "gitea",
        "ssh://git@git.example/a/b": "gitlab",
        "https://git.example:8443/a/b": "github",
        "https://bitbucket.org/a/b": None,
        "/srv/b": None,
    }
    assert {url: kind_of_host(settings, url) for url in kinds} == kinds
    for wrong in ("git.example", "=github", "git.example=svn"):
        with pytest.raises(InvalidInput, match="is not HOST=KIND"):
            read_settings(git_host_kinds=(wrong,))


def test_github_has_its_api_elsewhere() -> None:
    source, fields = RepositorySource("https://github.com/you/evals"), {"context": "mesocosm/hard"}
    url, headers, body = status_request("github", source, COMMIT, "pending", fields, TOKEN)
    assert url == f"https://api.github.com/repos/you/evals/statuses/{COMMIT}"
    assert headers["Accept"] == "application/vnd.github+json"
    assert body == {"state": "pending", "context": "mesocosm/hard"}
