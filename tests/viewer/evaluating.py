"""A team that evaluates a rollout on a platform: a repository with its history, datasets, models of two skills.

By hand, until Ctrl-C: python -m tests.viewer.evaluating FOLDER
"""

import asyncio
import contextlib
import hashlib
import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from tests.viewer.hosting import Member, Platform, hosting

from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

ROWS = 40
FLAKY, STEADY = "openai/gpt-4o-mini", "openai/gpt-4o"
"""Models with a price, which answer here: the second one is right more often."""
PATIENCE_S = 0.15

MAIN = """
import json, os, urllib.request
from osmosis_ai.rollout import (
    AgentWorkflow, AgentWorkflowConfig, AgentWorkflowContext, Grader, GraderContext, get_rollout_context
)

HINT = "HINT_TEXT"

class Player(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]):
        context = get_rollout_context()
        prompt = [{"role": "system", "content": HINT}, *ctx.prompt]
        request = urllib.request.Request(
            f"{context.chat_completions_url}/chat/completions",
            json.dumps({"model": "anything", "messages": prompt}).encode(),
            {"authorization": f"Bearer {context.api_key}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            said = json.load(answer)["choices"][0]["message"]
        print("asked", ctx.prompt[-1]["content"], "->", said["content"], flush=True)
        return [*prompt, said]

class Judge(Grader):
    async def grade(self, ctx: GraderContext):
        given = str(ctx.sample.messages[-1]["content"])
        ctx.artifacts_dir.mkdir(parents=True, exist_ok=True)
        (ctx.artifacts_dir / "why.txt").write_text(f"expected {ctx.label}, given {given}\\n")
        (ctx.artifacts_dir / "trace.json").write_text(json.dumps({"given": given}))
        ctx.set_reward(1.0 if given == ctx.label else 0.0)
"""
CONFIG = f"""[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "{FLAKY}"
dataset = "hard"

[evaluation]
limit = "all"
batch_size = 4
"""
SECRET = '\n[secrets]\nrequired = ["JUDGE_KEY"]\n'


def history() -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Yield branch, message and files of each commit; the hint makes the models better."""
    main, config = "rollouts/sums/main.py", "configs/eval/sums.toml"
    yield "main", "First evaluation", {main: MAIN.replace("HINT_TEXT", "Solve the sum."), config: CONFIG}
    yield "main", "Ask for a number only", {main: MAIN.replace("HINT_TEXT", "Say only the number. hint-1")}
    strict = CONFIG.replace("batch_size = 4", "batch_size = 4\npass_threshold = 1.0\nn = 2") + SECRET
    yield "main", "Two tries, with a key", {"configs/eval/strict.toml": strict}
    yield "careful", "careful: check the sum once more", {main: MAIN.replace("HINT_TEXT", "Check it again. hint-2")}


def rows(amount: int = ROWS) -> str:
    """Return the rows of the dataset as JSON lines."""
    made = random.Random(4)
    pairs = [(made.randrange(10, 99), made.randrange(10, 99)) for _ in range(amount)]
    lines = [
        {
            "user_prompt": f"What is {one} + {two}?",
            "ground_truth": str(one + two),
            "difficulty": ("easy", "hard")[two % 2],
        }
        for one, two in pairs
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def answer(body: Mapping[str, Any]) -> ScriptedAnswer:
    """Solve the sum, or not: by model, hint and sum, never by chance."""
    text = str(body["messages"][-1]["content"])
    hint = int((re.findall(r"hint-(\d)", str(body["messages"][0]["content"])) or ["0"])[0])
    skill = 0.45 + 0.15 * hint + (0.2 if str(body["model"]).endswith("4o") else 0.0)
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    right = random.Random(f"{text} {body['model']}").random() < skill
    return ScriptedAnswer(str(sum(numbers) + (0 if right else 1)))


@dataclass(frozen=True)
class Team:
    """A platform with a workspace that is connected with a repository, and who owns it."""

    platform: Platform
    owner: Member
    workspace: str
    repository: Path
    amount: int = ROWS

    @property
    def path(self) -> str:
        """The path of the workspace's pages."""
        return f"/workspaces/{self.workspace}"

    def upload(self, name: str, content: str) -> str:
        """Upload a version of a dataset, wait until it is checked, and return the dataset's id."""
        data = content.encode()
        body = {"file_name": f"{name}.jsonl", "size": len(data), "digest": hashlib.sha256(data).hexdigest()}
        begun = self.owner.ask("POST", f"/api{self.path}/datasets", {**body, "name": name, "overwrite": True})
        version = f"/api{self.path}/datasets/{begun['id']}/versions/{begun['version']}"
        self.owner.put(f"{version}/parts/1?digest={body['digest']}", data)
        self.owner.ask("POST", f"{version}/complete")
        self.owner.reached(
            f"/api{self.path}/datasets/{begun['id']}?version={begun['version']}",
            lambda found: found["current"]["status"] == "uploaded",
        )
        return str(begun["id"])

    def sync(self, branch: str = "") -> dict[str, Any]:
        """Sync a branch and return what was found."""
        number = self.owner.ask("POST", f"/api{self.path}/syncs", {"branch": branch})["number"]
        return self.synced(number)

    def synced(self, number: int) -> dict[str, Any]:
        """Return a sync that has succeeded."""
        path = f"/api{self.path}/syncs/{number}"
        found = self.owner.reached(path, lambda one: one["sync"]["status"] in {"success", "failed"})
        assert found["sync"]["status"] == "success", found
        return found

    def submit(self, **given: Any) -> dict[str, Any]:
        """Submit an evaluation and return its run."""
        body = {"kind": "rollout", "workspace": self.workspace, "configuration": "configs/eval/sums.toml", **given}
        found: dict[str, Any] = self.owner.ask("POST", "/api/runs", body)
        return found

    def evaluated(self, **given: Any) -> dict[str, Any]:
        """Return an evaluation that is over."""
        return self.owner.ended(self.submit(**given)["id"])


def commit(repository: Path, branch: str, message: str, files: Mapping[str, str]) -> str:
    """Commit files to a branch of a repository, and return the commit."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        ran = subprocess.run(["git", "-C", str(repository), *who, *words], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    if not (repository / ".git").exists():
        repository.mkdir(parents=True, exist_ok=True)
        git("init", "-q", "-b", branch)
    elif git("branch", "--show-current") != branch:
        git("checkout", "-q", "-B", branch)
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    git("add", "-A")
    git("commit", "-q", "-m", message)
    return git("rev-parse", "HEAD")


class Door:
    """What keeps the models from answering questions while it is shut, so that a run stays where it is."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._open = asyncio.Event()
        self.open()

    def open(self) -> None:
        """Let the models answer."""
        self._portal.call(self._open.set)

    def shut(self) -> None:
        """Let what is asked from now on wait."""
        self._portal.call(self._open.clear)

    async def answer(self, body: Mapping[str, Any]) -> ScriptedAnswer:
        """Solve the sum, or not, once the door is open."""
        await self._open.wait()
        return answer(body)


@contextlib.contextmanager
def serving(folder: Path, *, delay_s: float = PATIENCE_S) -> Iterator[tuple[Platform, Door]]:
    """Open a platform without workspaces, and the door of its models."""
    with contextlib.ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        door = Door(portal)
        model = ModelServer(door.answer, delay=delay_s, keep=0)
        portal.call(model.start)
        stack.callback(portal.call, model.stop)
        models = {name: f"{name}@{model.openai_url}" for name in (FLAKY, STEADY)}
        folder.mkdir(parents=True, exist_ok=True)
        platform = stack.enter_context(hosting(folder, models, confined=True, MESOCOSM_GIT_POLL_S="0"))
        # Nothing asked waits for an answer when all of it ends.
        stack.callback(door.open)
        yield platform, door


@contextlib.contextmanager
def evaluating(folder: Path, *, delay_s: float = PATIENCE_S, amount: int = ROWS) -> Iterator[Team]:
    """Open a platform with a team: code of the first commit is synced, and the dataset `hard` is there."""
    with serving(folder, delay_s=delay_s) as (platform, _door):
        owner = Member(platform, platform.admin, platform.password)
        workspace = owner.ask("POST", "/api/workspaces", {"name": "reefs"})["id"]
        team = Team(platform, owner, workspace, folder / "repository", amount)
        branch, message, files = next(history())
        commit(team.repository, branch, message, files)
        owner.ask("PUT", f"/api{team.path}/repository", {"url": str(team.repository)})
        team.synced(1)
        team.upload("hard", rows(amount))
        yield team


def evaluate(team: Team) -> list[dict[str, Any]]:
    """Play the history of the repository: evaluate each commit, with both models at the end."""
    runs = [team.evaluated(name="first", tags=["baseline"])]
    for branch, message, files in list(history())[1:]:
        commit(team.repository, branch, message, files)
        team.sync(branch)
        runs.append(team.evaluated(branch=branch, tags=[] if branch == "main" else ["try"]))
    team.upload("hard", rows(team.amount + 10))
    runs.append(team.evaluated(branch="main"))
    runs.append(team.evaluated(branch="main", assignments={"experiment.model_path": STEADY}))
    return runs


if __name__ == "__main__":
    with evaluating(Path(sys.argv[1])) as opened:
        evaluate(opened)
        platform = opened.platform
        print(f"{platform.url}{opened.path} {platform.admin} {platform.password}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
