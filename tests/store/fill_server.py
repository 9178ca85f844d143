"""Fill the database of a server through its API, and keep it with what the server answered: a sample of this version.

`python -m tests.store.fill_server tests/store/released/NNNN-filled.sqlite` writes `.sql.xz`, a dump, and `.json.xz`,
the answers and the key of its secrets. With MESOCOSM_TEST_POSTGRES set and `….postgresql` it does so with PostgreSQL,
which needs `pg_dump`. It needs bubblewrap and Git. `test_upgrade_server` reads the samples with later code.
"""

import contextlib
import hashlib
import json
import lzma
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg

from mesocosm.client import Client
from mesocosm.server.key_ring import FILE_NAME
from mesocosm.server.service import opened
from mesocosm.server.settings import Settings, read_settings
from mesocosm.store.revision import DATABASE_NAME

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery staple"
PEOPLE = {"root": "admin", "ada": "member", "ben": "member", "cid": "member", "dee": "member"}
"""Accounts with their roles on the server. Ada owns the workspace, Ben works in it, Cid reads, Dee is outside."""
SECRETS = {"SHARED_KEY": "value-of-the-workspace", "OWN_KEY": "value-of-ada"}
CONFIG = '[experiment]\nrollout = "words"\nentrypoint = "main.py"\nmodel_path = "openai/gpt-5-mini"\ndataset = "hard"\n'
MODEL, KEY_OF_MODEL = "house/tiny", "value-of-the-model"
FILES = {"rollouts/words/main.py": "print()\n", "configs/eval/hard.toml": CONFIG, "data/hard.jsonl": "{}\n"}
ROWS = [
    "".join(json.dumps({"user_prompt": f"{n} + 1?", "ground_truth": str(n + 1)}) + "\n" for n in range(count)).encode()
    for count in (3, 5)
]
"""Two versions of a dataset."""
PATIENCE_S = 300.0
MAIN = """
import json
import os
import urllib.request

from osmosis_ai.rollout import AgentWorkflow, AgentWorkflowConfig, Grader, get_rollout_context


class Player(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx):
        context = get_rollout_context()
        headers = {"authorization": f"Bearer {context.api_key}", "content-type": "application/json"}
        body = json.dumps({"model": "any", "messages": ctx.prompt}).encode()
        address = f"{context.chat_completions_url}/chat/completions"
        print("asks", ctx.prompt[-1]["content"], "with", os.environ["SHARED_KEY"])
        with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
            return [*ctx.prompt, json.load(answer)["choices"][0]["message"]]


class Judge(Grader):
    async def grade(self, ctx):
        ctx.artifacts_dir.mkdir(parents=True, exist_ok=True)
        (ctx.artifacts_dir / "label.txt").write_text(ctx.label)
        ctx.set_reward(float(int(ctx.label) % 2))
"""
EVALUATION = """
[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "hard"
[evaluation]
limit = "all"
[secrets]
required = ["SHARED_KEY"]
"""
OF_EVALUATIONS = ("/episodes", "/results", "/series", "/output", "/artifacts", "/previous")
EVALUATED = {"rollouts/sums/main.py": MAIN, "configs/eval/sums.toml": EVALUATION}
"""Code that is uploaded and run; that of the repository is only listed."""


class Person:
    """Somebody with an account, who asks the server."""

    def __init__(self, url: str, token: str) -> None:
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def ask(self, method: str, path: str, body: Any = None, **given: Any) -> Any:
        """Return the document of an answer. Raises HTTPStatusError."""
        answer = self._client.request(method, path, **(given if body is None else {"json": body}))
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def get(self, path: str) -> httpx.Response:
        """Return an answer."""
        return self._client.get(path)


def until(done: Callable[[], Any]) -> Any:
    """Return what `done` returns once that is true."""
    end = time.monotonic() + PATIENCE_S
    while not (found := done()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE_S:.0f} s")
        time.sleep(0.2)
    return found


@contextlib.contextmanager
def serving(settings: Path, url: str, log: Path) -> Iterator[None]:
    """Serve with one worker while the block runs."""
    with log.open("wb") as out:
        words = [sys.executable, "-m", "mesocosm", "serve", "--config", str(settings)]
        server = subprocess.Popen(words, stdout=out, stderr=out, cwd=ROOT)
        try:
            until(lambda: server.poll() is None and _answers(url))
            yield
        finally:
            server.terminate()
            server.wait(60)


@contextlib.contextmanager
def receiver() -> Iterator[str]:
    """Accept messages while the block runs, and yield the address for them."""

    class Accepted(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Accepted) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/hook"
        finally:
            server.shutdown()
            thread.join()


def _answers(url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{url}/health").is_success
    return False


def git(place: Path, *words: str) -> None:
    """Run git as somebody."""
    me = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *words], cwd=place, env={**os.environ, **me}, check=True, capture_output=True)


def written(place: Path, files: dict[str, str]) -> Path:
    """Return a folder with files."""
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    return place


def repository(place: Path, files: dict[str, str]) -> Path:
    """Return a Git repository with files in one commit."""
    written(place, files)
    git(place, "init", "--initial-branch=main")
    git(place, "add", "--all")
    git(place, "commit", "-m", "first")
    return place


def fill(place: Path, url: str, tokens: dict[str, str], hook: str) -> dict[str, list[str]]:
    """Make one thing of each kind. Return the paths whose answers are kept, by the name of who asks."""
    root, ada, ben, cid, _dee = (Person(url, tokens[name]) for name in PEOPLE)
    ids = {one["username"]: one["id"] for one in root.ask("GET", "/api/admin/users")["users"]}
    root.ask("POST", f"/api/admin/users/{ids['ben']}/budget", {"budget_usd": 2.5})
    given = {"served_as": "openai/tiny@http://127.0.0.1:9/v1", "key": KEY_OF_MODEL, "price": {"input": 1, "output": 2}}
    root.ask("PUT", f"/api/admin/models/{MODEL}", given)
    ada.ask("POST", "/api/auth/login", {"username": "ada", "password": PASSWORD})
    ada.ask("POST", "/api/auth/device", {"device": "laptop"})
    team = _team(root, ada, ben)
    workspace = _workspace(root, ada, ben, cid)
    _secrets(workspace, ada)
    datasets = _datasets(workspace, ben)
    _repository(workspace, ada, ben, repository(place / "evals", FILES))
    domain, environment, runs = _runs(root, ada, ben, team, place)
    workspace_id = workspace.rpartition("/")[2]
    evaluated, changing = _evaluations(workspace, ada, ben, Client(url, tokens["ben"]), place, hook)
    pushed = _push(url, tokens["ben"], workspace_id, place)
    everybody = [
        *("/api/workspaces", workspace, f"{workspace}/members", f"{workspace}/datasets", f"{workspace}/secrets"),
        *(f"{workspace}/{rest}" for rest in ("repository", "syncs", "syncs/1", "syncs/2", "rollouts")),
        *(f"{workspace}/datasets/{one}{rest}" for one in datasets for rest in ("", "?version=1", "/preview")),
        f"{workspace}/secrets/missing?name=SHARED_KEY&name=OWN_KEY&name=NO_KEY",
        *("/api/teams", f"/api/teams/{team}/members", f"/api/teams/{team}/environments"),
        *("/api/tokens", "/api/domains", f"/api/domains/{domain}", f"/api/domains/{domain}/protocols"),
        *("/api/environments", f"/api/environments/{environment}/versions"),
        *(f"{workspace}/{rest}" for rest in ("code", "schedules", "notifications", *changing)),
        *(f"{workspace}/runs/smoke", "/api/run-imports"),
        *("/api/runs", "/api/runs/facets", f"/api/leaderboards/{domain}", f"/api/leaderboards/{domain}/official"),
        *(f"/api/runs/{run}{rest}" for run in [*runs, *pushed] for rest in ("", "/episodes", "/results", "/series")),
        *(f"/api/runs/{run}{rest}" for run in evaluated for rest in ("", *OF_EVALUATIONS)),
    ]
    return {name: [*everybody, *_of_admins(name)] for name in PEOPLE}


def _of_admins(name: str) -> list[str]:
    return ["/api/admin/users", "/api/admin/audit"] if name == "root" else []


def _team(root: Person, ada: Person, ben: Person) -> str:
    team = ada.ask("POST", "/api/teams", {"name": "Red pandas"})
    ben.ask("POST", "/api/teams/join", {"code": team["join_code"]})
    root.ask("PATCH", f"/api/teams/{team['team_id']}", {"budget_usd": 10.0})
    ada.ask("POST", "/api/tokens", {"name": "CI", "scope": "read"})
    return str(team["team_id"])


def _workspace(root: Person, ada: Person, ben: Person, cid: Person) -> str:
    path = f"/api/workspaces/{ada.ask('POST', '/api/workspaces', {'name': 'Reefs'})['id']}"
    ada.ask("POST", f"{path}/members", {"username": "ben", "role": "member"})
    ada.ask("POST", f"{path}/members", {"username": "cid", "role": "viewer"})
    root.ask("PATCH", path, {"budget_usd": 25.0})
    cid.ask("POST", "/api/workspaces", {"name": "Tide pools"})
    return path


def _secrets(workspace: str, ada: Person) -> None:
    shared, own = SECRETS
    ada.ask("PUT", f"{workspace}/secrets/workspace/{shared}", {"value": SECRETS[shared]})
    ada.ask("PUT", f"{workspace}/secrets/workspace/{own}", {"value": "of everybody else"})
    ada.ask("PUT", f"{workspace}/secrets/personal/{own}", {"value": SECRETS[own]})


def _datasets(workspace: str, ben: Person) -> list[str]:
    """Upload a dataset in two versions, one with a fault, one that is deleted and one that is not whole."""
    path = f"{workspace}/datasets"
    hard, _ = (_upload(path, ben, "hard.jsonl", data, overwrite=True) for data in ROWS)
    faulty = _upload(path, ben, "faulty.jsonl", b'{"user_prompt": 1}\n{"user_prompt"\n')
    ben.ask("DELETE", f"{path}/{_upload(path, ben, 'gone.jsonl', ROWS[0])}")
    digest = hashlib.sha256(ROWS[0]).hexdigest()
    begun = ben.ask("POST", path, {"file_name": "half.jsonl", "size": len(ROWS[0]), "digest": digest})
    return [hard, faulty, str(begun["id"])]


def _upload(path: str, ben: Person, name: str, data: bytes, **given: Any) -> str:
    digest = hashlib.sha256(data).hexdigest()
    begun = ben.ask("POST", path, {"file_name": name, "size": len(data), "digest": digest, **given})
    version = f"{path}/{begun['id']}/versions/{begun['version']}"
    ben.ask("PUT", f"{version}/parts/1", content=data, params={"digest": digest})
    ben.ask("POST", f"{version}/complete")
    one = f"{path}/{begun['id']}?version={begun['version']}"
    until(lambda: ben.ask("GET", one)["current"]["status"] in {"uploaded", "error"})
    return str(begun["id"])


def _repository(workspace: str, ada: Person, ben: Person, source: Path) -> None:
    """Connect a repository, sync it, and sync a branch that it does not have."""
    ada.ask("PUT", f"{workspace}/repository", {"url": str(source)})
    _synced(workspace, ada)
    ada.ask("POST", f"{workspace}/repository/hook")
    ben.ask("POST", f"{workspace}/syncs", {"branch": "nowhere"})
    _synced(workspace, ada)


def _synced(workspace: str, ada: Person) -> None:
    until(lambda: ada.ask("GET", f"{workspace}/syncs")[0]["status"] in {"success", "failed"})


def _evaluations(
    workspace: str, ada: Person, ben: Person, client: Client, place: Path, hook: str
) -> tuple[list[str], list[str]]:
    """Run a rollout and a benchmark, make rows of them, schedule them, announce them.

    Return the runs, and the paths below the workspace of what was made beside them.
    """
    name = ada.ask("GET", workspace)["name"]
    code = client.snapshots.upload(name, written(place / "code", EVALUATED))
    ada.ask("POST", f"{workspace}/notifications", {"url": hook, "name": "ci"})
    wanted = {"kind": "rollout", "workspace": name, "configuration": "configs/eval/sums.toml", "snapshot": code.id}
    first = ben.ask("POST", "/api/runs", {**wanted, "name": "smoke", "limit": 2, "tags": ["smoke"]})
    _over(ben, first["id"])
    second = ada.ask("POST", "/api/runs", {"kind": "rollout", "workspace": name, "from_run": "smoke", "limit": 0})
    third = {"kind": "benchmark", "workspace": name, "benchmark": "eliza-format", "model": "builtin/empty"}
    runs = [first["id"], second["id"], ben.ask("POST", "/api/runs", {**third, "max_examples": 2})["id"]]
    for run in runs:
        _over(ben, run)
    ben.ask("POST", f"{workspace}/datasets/failed/rows", {"run": runs[1], "where": {"outcome": "fail"}})
    until(lambda: ben.ask("GET", f"{workspace}/datasets/failed?version=1")["current"]["status"] == "uploaded")
    log = f"{workspace}/notifications/ci/deliveries"
    until(lambda: all(one["ended_at"] for one in ada.ask("GET", log)))
    paused = {"name": "nightly", "configuration": "configs/eval/hard.toml", "cron": "0 3 * * 1-5"}
    ben.ask("POST", f"{workspace}/schedules", {**paused, "timezone": "Europe/Berlin", "overrides": {"limit": 1}})
    ben.ask("PATCH", f"{workspace}/schedules/nightly", {"enabled": False})
    ada.ask(
        "POST", f"{workspace}/schedules", {"name": "each", "configuration": "configs/eval/hard.toml", "trigger": "sync"}
    )
    rest = [f"schedules/{one}" for one in ("nightly", "each")]
    return runs, [*rest, f"snapshots/{code.id}", "datasets/failed", "datasets/failed/preview"]


def _over(person: Person, run: str) -> None:
    over = {"finished", "partial", "failed", "stopped"}
    until(lambda: person.ask("GET", f"/api/runs/{run}")["state"] in over)


def _push(url: str, token: str, workspace: str, place: Path) -> list[str]:
    """Play an environment on this machine, push it, and return the ids of the imported runs."""
    game = written(place / "local-game", _example())
    own = {"HOME": str(place), "MESOCOSM_BASE_URL": url, "SWECC_BENCH_TOKEN": token}
    variables = {**os.environ, **own, "MESOCOSM_RESULTS_DIR": str(place / "results")}
    for words in (
        ["run", "local", "--model", "builtin/random", "--episodes", "2"],
        ["push", "last", "--workspace", workspace],
    ):
        command = [sys.executable, "-m", "mesocosm", *words]
        done = subprocess.run(command, cwd=game, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
    return [str(one["run_id"]) for one in Person(url, token).ask("GET", "/api/run-imports")["items"]]


def _example() -> dict[str, str]:
    return {one.name: one.read_text() for one in (ROOT / "examples" / "word-game").iterdir() if one.is_file()}


def _runs(root: Person, ada: Person, ben: Person, team: str, place: Path) -> tuple[str, str, list[str]]:
    """Return a domain, its environment, and runs: public, of the team, official, private."""
    source = repository(place / "word-game", _example())
    made = ada.ask("POST", "/api/environments", {"name": "Word game", "github_url": str(source)})
    ada.ask("POST", "/api/environments", {"name": "Team's", "github_url": str(place / "evals"), "team_id": team})
    path = f"/api/environments/{made['id']}"
    until(lambda: ada.ask("GET", path)["status"] in {"ready", "failed"})
    domain = ada.ask("GET", path)["domain_id"]
    ada.ask("POST", f"/api/domains/{domain}/publish")
    ada.ask("POST", f"/api/domains/{domain}/protocols", {"episodes": 2})
    version = ada.ask("GET", f"/api/domains/{domain}")["binding_vow"]["version"]
    wanted = {"domain_id": domain, "binding_vow_version": version, "agent_config": {"model": "builtin/random"}}
    runs = [
        ada.ask("POST", "/api/runs", {**wanted, "num_episodes": 2, "visibility": "gallery_public", "name": "Shown"}),
        ben.ask("POST", "/api/runs", {**wanted, "num_episodes": 2, "team_id": team, "tags": ["team"]}),
        ada.ask("POST", "/api/runs", {**wanted, "official": True}),
        ben.ask("POST", "/api/runs", {**wanted, "num_episodes": 1}),
    ]
    ids = [str(run["id"]) for run in runs]
    for run in ids:
        _over(root, run)
    return str(domain), str(made["id"]), ids


def answers(people: dict[str, Person], paths: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Return what each path answers to each person: its status, and its document where there is one."""
    return {name: {path: document(people[name].get(path)) for path in paths[name]} for name in paths}


def document(answer: httpx.Response) -> list[Any]:
    """Return the status of an answer, and its document unless it is an error."""
    return [answer.status_code, answer.json() if answer.is_success else None]


def main(sample: str) -> None:
    """Fill a server, and write the sample."""
    place = Path(tempfile.gettempdir()) / "filled"
    place.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    database = _postgres() if sample.endswith(".postgresql") else ""
    config = place / "server.toml"
    config.write_text(
        f'port = {port}\nlogin_port = "none"\ndata_dir = "{place / "data"}"\ndatabase_url = "{database}"\n'
        "local_git = true\ngit_poll_s = 0\ncooldown_s = 0\nmax_missing = 1\nprivate_webhooks = true\n"
        '[[models]]\nname = "builtin/random"\n[[models]]\nname = "builtin/empty"\n'
        '[[models]]\nname = "openai/gpt-5-mini"\n'
    )
    settings, url = read_settings(config), f"http://127.0.0.1:{port}"
    try:
        with opened(settings) as service:
            users = {name: service.accounts.add_user(name, PASSWORD, role=role) for name, role in PEOPLE.items()}
            tokens = {name: service.accounts.access_token(user) for name, user in users.items()}
        with serving(config, url, place / "log"), receiver() as hook:
            paths = fill(place, url, tokens, hook)
            people = {name: Person(url, token) for name, token in tokens.items()}
            found = {"key": (place / "data" / FILE_NAME).read_text(), "answers": answers(people, paths)}
        _write(f"{sample}.json.xz", json.dumps(found, indent=1))
        _write(f"{sample}.sql.xz", dump(settings))
    finally:
        shutil.rmtree(place)


def _postgres() -> str:
    url = os.environ["MESOCOSM_TEST_POSTGRES"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA released")
    return f"{url}?options={quote('-csearch_path=released')}"


def dump(settings: Settings) -> str:
    """Return the statements that make the database."""
    if not settings.database_url:
        with closing(sqlite3.connect(settings.data_dir / DATABASE_NAME)) as file:
            return "\n".join(file.iterdump())
    words = ["pg_dump", "--inserts", "--no-owner", "--schema=released", settings.database_url.partition("?")[0]]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return re.sub(r"^\\.*\n", "", text, flags=re.MULTILINE)  # commands of psql, which no other client knows


def _write(path: str, text: str) -> None:
    """Write a compressed text, without the name and the folders of this machine."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    text = (
        re.sub(rf"\b{re.escape(socket.gethostname())}\b", "host", text)
        .replace(boot, "boot")
        .replace(str(ROOT), "/mesocosm")
    )
    Path(path).write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(sys.argv[1])
