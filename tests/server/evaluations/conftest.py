"""A team on a server: a workspace with code, a dataset, and a model on loopback; workers in this process."""

import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from anyio.from_thread import start_blocking_portal
from tests.server.routes.conftest import Hosted, Person, cheap_passwords

from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.server import adapters
from mesocosm.server.builds.inspection import inspect_workspace
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.workers.worker import work
from mesocosm.store import open_store
from mesocosm.store.datasets import DatasetFile
from mesocosm.store.parts import PART_BYTES
from mesocosm.store.snapshot_uploads import SnapshotUpload
from mesocosm.testing.model_server import ModelServer

__all__ = ["cheap_passwords"]

MAIN = """
import json, os, urllib.request
from osmosis_ai.rollout import (
    AgentWorkflow, AgentWorkflowConfig, AgentWorkflowContext, Grader, GraderContext, get_rollout_context
)

class Player(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]):
        context = get_rollout_context()
        body = {"model": "anything", "messages": ctx.prompt}
        request = urllib.request.Request(
            f"{context.chat_completions_url}/chat/completions", json.dumps(body).encode(),
            {"authorization": f"Bearer {context.api_key}", "content-type": "application/json"},
        )
        print("printed", os.environ.get("TOKEN", "without"), os.environ.get("GREETING", ""))
        with urllib.request.urlopen(request) as answer:
            said = json.load(answer)["choices"][0]["message"]
        return [*ctx.prompt, said]

class Judge(Grader):
    async def grade(self, ctx: GraderContext):
        ctx.artifacts_dir.mkdir(parents=True, exist_ok=True)
        (ctx.artifacts_dir / "notes").mkdir(exist_ok=True)
        (ctx.artifacts_dir / "notes" / "why.txt").write_text(f"label {ctx.label} {os.environ.get('TOKEN', '')}")
        ctx.set_reward(1.0 if ctx.label in str(ctx.sample.messages[-1]["content"]) else 0.0)
"""
CONFIG = """
[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "openai/tiny"
dataset = "hard"

[evaluation]
limit = "all"
"""
FILES = {"rollouts/sums/main.py": MAIN, "configs/eval/sums.toml": CONFIG}
ROWS = b"".join(b'{"user_prompt": "what is %d + 1?", "ground_truth": "%d"}\n' % (n, n + 1) for n in range(8))
COMMIT = "c" * 40


@dataclass
class Team:
    """A workspace on a server, and its owner."""

    hosted: Hosted
    owner: Person
    workspace: str
    model: ModelServer
    snapshot: str = ""

    @property
    def service(self) -> Service:
        """The service of the server."""
        return self.hosted.service

    def add_code(self, files: Mapping[str, str], folder: Path, *, commit: str = COMMIT, dirty: bool = False) -> str:
        """Store a workspace directory as an uploaded snapshot and return its id."""
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        contents = {name: text.encode() for name, text in files.items()}
        listed = [SnapshotFile(name, digest_bytes(data), len(data)) for name, data in contents.items()]
        stored = self.service.store.snapshots.add(listed, lambda file: contents[file.path])
        wanted = SnapshotUpload(
            id="", workspace_id=self.workspace, digest=stored.digest, branch="main", commit_id=commit, dirty=dirty
        )
        begun = self.service.store.snapshot_uploads.begin(wanted)
        found = inspect_workspace(folder, str)
        assert not found.faults, found.faults
        kept = msgspec.structs.replace(begun, rollouts=found.rollouts, configurations=found.configurations)
        self.service.store.snapshot_uploads.complete(kept, stored)
        return begun.id

    def add_dataset(self, name: str = "hard", data: bytes = ROWS, *, columns: Mapping[str, Any] | None = None) -> None:
        """Upload a dataset, and wait until a worker has checked it."""
        digest, store = hashlib.sha256(data).hexdigest(), self.service.store.datasets
        file = DatasetFile(
            name=name,
            file_name=f"{name}.jsonl",
            format="jsonl",
            size=len(data),
            digest=digest,
            overwrite=True,
            columns=json.dumps(columns or {}),
        )
        begun = store.begin(self.workspace, file, by=self.owner.user_id, most_bytes=1 << 30)
        assert begun.version is not None
        for number in range(1, begun.version.part_count + 1):
            store.add_part(begun.version, number, data[(number - 1) * PART_BYTES : number * PART_BYTES])
        assert store.submit(begun.version)
        self.work()

    def work(self) -> None:
        """Let a worker do all that waits."""
        self.hosted.portal.call(self._work)

    async def _work(self) -> None:
        try:
            await work(self.service, once=True)
        finally:
            adapters.bind(self.service)

    def submit(self, by: Person | None = None, **given: Any) -> httpx.Response:
        """Submit an evaluation."""
        body = {"kind": "rollout", "workspace": self.workspace, "configuration": "configs/eval/sums.toml"}
        if not {"snapshot", "branch", "commit", "from_run"} & given.keys():
            body["snapshot"] = self.snapshot
        return (by or self.owner).post("/api/runs", {**body, **given})

    def submitted(self, by: Person | None = None, **given: Any) -> Any:
        """Submit an evaluation that is accepted, and return the document of its run."""
        answer = self.submit(by, **given)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def run(self, run_id: str) -> Any:
        """Return the document of a run."""
        return self.owner.get(f"/api/runs/{run_id}").json()


OpenTeam = Callable[..., Team]


@pytest.fixture
def open_team(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[OpenTeam]:
    """Return what opens a server with a team, which has code and a dataset."""
    with contextlib.ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def opened(**given: Any) -> Team:
            model = stack.enter_context(portal.wrap_async_context_manager(_model()))
            models = [
                {"name": "openai/tiny", "served_as": f"openai/tiny@{model.openai_url}"},
                {"name": "openai/judge", "served_as": f"openai/judge@{model.openai_url}"},
            ]
            settings = read_settings(data_dir=tmp_path / "data", cooldown_s=0.0, **{"models": models, **given})
            store = open_store(put_empty_store(tmp_path / "results"))
            stack.callback(store.close)
            hosted = Hosted(Service(settings, store), portal)
            adapters.bind(hosted.service)
            owner = hosted.member("ada")
            workspace = owner.post("/api/workspaces", {"name": "reefs"}).json()["id"]
            team = Team(hosted, owner, workspace, model)
            team.snapshot = team.add_code(FILES, tmp_path / "code")
            team.add_dataset()
            return team

        yield opened


@pytest.fixture
def team(open_team: OpenTeam) -> Team:
    """A team on a server with its ordinary settings."""
    return open_team()


@contextlib.asynccontextmanager
async def _model() -> AsyncIterator[ModelServer]:
    def answer(body: Mapping[str, Any]) -> str:
        asked = str(body["messages"][-1]["content"])
        number = int("".join(letter for letter in asked.partition("+")[0] if letter.isdecimal()) or 0)
        return str(number + 1) if number < 6 else "I do not know"

    server = ModelServer(answer)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
