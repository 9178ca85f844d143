"""Cells that installed agents play: started with the run's model, seen, and never put in the place of another."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.orchestrated.agent_program import command, read_output
from mesocosm.benchmarks.orchestrated.provider import PROVIDERS
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.registry import MODELS
from mesocosm.core.run import AgentSettings, Run, RunSpec, Selection
from mesocosm.core.usage import Usage
from mesocosm.engine import session
from mesocosm.store import Store, open_store

ASKING = """
import json, os, sys, urllib.request
prompt = sys.argv[sys.argv.index("-p") + 1]
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
key = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, key)
said = json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]
print("SECRET" in os.environ, len(os.listdir(".")), file=sys.stderr)
print(json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read", "input": {}}]}}))
print(json.dumps({"type": "result", "result": said}))
"""


class Model:
    """Delegates, finishes with what was reported, and answers workers with the answer."""

    capabilities = Capabilities(tools=True)

    async def check(self) -> None:
        """Nothing to check."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        last = request.messages[-1].text
        if not request.tools:
            said = ModelReply("FINAL ANSWER: 90")
        elif "Report of" in last:
            given = {"answer": last.rpartition(" ")[2]}
            said = ModelReply("", tool_calls=(ToolCall("b", "finish", given),))
        else:
            said = ModelReply("", tool_calls=(ToolCall("a", "delegate", {"instructions": last}),))
        return ModelReply(said.text, usage=Usage(7, 3, calls=1), model="m", tool_calls=said.tool_calls)

    async def close(self) -> None:
        """Nothing is held."""


@pytest.fixture
def model() -> Iterator[str]:
    MODELS.register("delegating")(lambda settings: Model())
    yield "delegating/m"
    del MODELS._own["delegating"]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("SECRET", "s3cret")
    return folder


def install(folder: Path, name: str, code: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)


async def played(place: Path, model: str, **given: Any) -> tuple[Run, Store]:
    known = read_catalogue().find("gaia_orchestrated")
    (settings,) = settle([known.descriptor], {"dataset": "jsonl", **given}, [known.descriptor])
    questions = place / "questions.jsonl"
    questions.write_text(json.dumps({"question": "How many berths?", "answer": "90"}) + "\n")
    parameters = {**settings.parameters, "dataset_path": str(questions)}
    store = open_store(place / "results.sqlite")
    spec = RunSpec(reference(known, parameters), ModelSettings(model), AgentSettings("chat"), Selection(None, None))
    return await session.run(spec, store), store


async def test_an_agent_plays_alone_and_behind_a_control_plane_with_the_model_of_the_run(
    tmp_path: Path, programs: Path, model: str
) -> None:
    install(programs, "claude", ASKING)
    run, store = await played(tmp_path, model, matrix=True, providers="claude-code")
    found = {metric.name: metric.value for metric in run.metrics}
    assert found["overall_accuracy:orchestrated"] == found["overall_accuracy:direct_shell"] == 1.0
    assert found["delegation_success_rate"] == 1.0
    calls = {}
    for episode in store.episodes.list(run.id).items:
        info = episode.terminal_info
        assert info["capabilities"]["observed"] == ["code.read", "research.docs_lookup"]
        mode = episode.task_id.split("/")[1]
        events = list(store.traces.events(episode.id))
        calls[mode] = sum(event.kind is Kind.MODEL_CALL for event in events)
        logs = [event.payload["message"] for event in events if event.kind is Kind.LOG]
        assert "False 0" in logs
    assert calls == {"orchestrated": 3, "direct_shell": 1}
    assert run.usage.calls == 4


async def test_an_agent_and_the_native_worker_share_a_run(tmp_path: Path, programs: Path, model: str) -> None:
    install(programs, "claude", ASKING)
    given = {"providers": ["mesocosm", "claude-code"], "required_capabilities": ["research.code_exec"]}
    run, _ = await played(tmp_path, model, execution_mode="direct_shell", **given)
    assert {metric.name: metric.n_scored for metric in run.metrics if ":" in metric.name} == {
        "overall_accuracy:mesocosm": 1,
        "overall_accuracy:claude-code": 1,
        "overall_accuracy:direct_shell": 2,
    }


@pytest.mark.parametrize("mode", ["orchestrated", "direct_shell"])
async def test_an_agent_that_fails_leaves_the_score_missing_with_its_last_words(
    mode: str, tmp_path: Path, programs: Path, model: str
) -> None:
    install(programs, "codex", "import sys\nsys.exit('no login')")
    given = {"providers": ["codex"], "required_capabilities": ["research.code_exec"]}
    run, store = await played(tmp_path, model, execution_mode=mode, **given)
    assert run.metrics[0].missing == {"program_failed": 1}
    failure = store.episodes.list(run.id).items[0].failure
    assert failure is not None
    assert failure.cause is Cause.PROGRAM_FAILED
    assert failure.message == "codex ended with exit code 1"
    assert "no login" in failure.stderr


async def test_without_a_tool_of_its_own_a_strict_agent_is_not_started(
    tmp_path: Path, programs: Path, model: str
) -> None:
    install(programs, "codex", f"open({str(tmp_path / 'started')!r}, 'w')")
    run, _ = await played(tmp_path, model, providers=["codex"], required_capabilities="research.web_search")
    assert run.metrics[0].value == 0.0
    assert not (tmp_path / "started").exists()


async def test_what_programs_may_do_here_is_told_before_anything_runs(tmp_path: Path, programs: Path) -> None:
    for name in ("claude", "opencode"):
        install(programs, name, "")
    notices: list[str] = []
    await open_benchmark(reference(read_catalogue().find("gaia_orchestrated"), {})).open(notices.append)
    told = "is not in our sandbox: it can read what is on this machine, the answers of benchmarks too"
    assert notices == [f"claude-code {told}", f"opencode {told}, and runs commands of the model as this user"]


@pytest.mark.parametrize("provider", [known for known in PROVIDERS if known.programs])
def test_every_agent_is_started_with_the_prompt_as_one_word(provider: Any) -> None:
    address = ProxyAddress("http://127.0.0.1:1", "token", {}, "openai", "m", ModelSettings("openai/m"))
    words = command(provider.name, "/bin/agent", "do; $(this) 'now'", address)
    assert words[0] == "/bin/agent"
    assert words.count("do; $(this) 'now'") == 1
    assert "token" not in " ".join(words)
    assert any(word.endswith("m") for word in words)


def lines(*records: Any) -> str:
    return "\n".join(json.dumps(record) for record in records)


@pytest.mark.parametrize(
    ("output", "text", "observed"),
    [
        ("", "", ()),
        ("one\ntwo", "one\ntwo", ()),
        (
            lines(
                {"type": "item.completed", "item": {"type": "command_execution", "command": "ls"}},
                {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}},
            ),
            "done",
            ("code.shell", "research.code_exec"),
        ),
        (
            lines(
                {"type": "tool_use", "part": {"type": "tool", "tool": "edit"}}, {"part": {"type": "text", "text": "x"}}
            ),
            "x",
            ("code.edit",),
        ),
        (lines({"tool_calls": [{"function": {"name": "bash"}}]}), "", ("code.shell", "research.code_exec")),
        (lines({"type": "user", "input": {"type": "tool_use", "name": "bash"}}), "", ()),
        ("[" * 100_000, "[" * 100_000, ()),
    ],
)
def test_output_tells_the_last_words_and_the_tools(output: str, text: str, observed: tuple[str, ...]) -> None:
    told = read_output(output)
    assert (told.text, told.observed) == (text, observed)
