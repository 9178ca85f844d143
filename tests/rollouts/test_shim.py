import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mesocosm
from mesocosm.rollouts.sdk.delivery import send
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

PACKAGE = Path(mesocosm.__file__).parent
SHIM = PACKAGE / "compat" / "osmosis"
FOLDER = Path(__file__).parent / "published" / "calculator"

OLDER: dict[str, str] = {
    "osmosis_ai": "__version__ evaluate_rubric",
    "osmosis_ai.rollout": "create_rollout_server ControllerAuth HarborAgentWorkflowContext MultiTurnMode",
    "osmosis_ai.rollout.context": "HarborAgentWorkflowContext rollout_contextvar",
    "osmosis_ai.rollout.types": "MultiTurnMode",
}
"""Names that only releases before 0.3 export; those of later ones are in tests/compat/osmosis_surface.txt."""

OPTIONAL = {
    "agents": (
        "osmosis_ai.rollout.integrations.agents.openai_agents",
        "OsmosisAgent OsmosisLitellmModel OsmosisMemorySession OsmosisRolloutModel SessionSampleSource",
    ),
    "strands": ("osmosis_ai.rollout.integrations.agents.strands", "OsmosisStrandsAgent OsmosisRolloutModel"),
}

ALONE = """
import sys
# Leave only the shim: mesocosm itself must be found by the shim's own place.
sys.path = [path for path in sys.path if path != {source!r}]
"""


def python(code: str) -> Any:
    """Run code with the shim alone on the module path and return what it printed as JSON."""
    whole = ALONE.format(source=str(PACKAGE.parent)) + code
    environment = {**os.environ, "PYTHONPATH": str(SHIM)}
    done = subprocess.run(
        [sys.executable, "-c", whole], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_older_names_are_there_with_only_the_shim_on_the_path() -> None:
    code = f"""
import importlib, json
names = {OLDER!r}
missing = [f"{{module}}.{{name}}" for module, listed in names.items() for name in listed.split()
           if getattr(importlib.import_module(module), name, None) is None]
import mesocosm
print(json.dumps([missing, mesocosm.__file__]))
"""
    missing, found = python(code)
    assert missing == []
    assert Path(found) == PACKAGE / "__init__.py"


def test_it_says_that_it_is_a_stand_in() -> None:
    assert python("import osmosis_ai, json; print(json.dumps(osmosis_ai.__version__))") == "0.3.0+mesocosm"


def test_everything_is_imported_at_once_without_a_framework() -> None:
    code = """
import json
from osmosis_ai.rollout import *
from osmosis_ai.rollout.types import *
print(json.dumps([LocalBackend.__module__, "OsmosisStrandsAgent" in globals()]))
"""
    assert python(code) == ["mesocosm.rollouts.sdk.backend", False]


def test_a_module_that_is_not_here_says_what_to_use() -> None:
    code = """
import importlib, importlib.util, json
said = []
for name in ("cli.main", "platform", "eval.local.runner", "rollout.container.runner", "rollout.utils.http", "_uv"):
    try:
        importlib.import_module(f"osmosis_ai.{name}")
    except ModuleNotFoundError as error:
        said.append(str(error))
print(json.dumps([said, importlib.util.find_spec("osmosis_ai.nothing")]))
"""
    said, nothing = python(code)
    wanted = ["mesocosm eval", "mesocosm.client", "eval run-local", "osmosis-ai[harbor]", "sdk", "sdk"]
    assert [words in told for words, told in zip(wanted, said, strict=True)] == [True] * 6
    assert nothing is None


def test_importing_it_loads_no_framework() -> None:
    heavy = ["fastapi", "uvicorn", "openai", "anthropic", "litellm", "httpx", "msgspec", "agents", "strands"]
    code = f"""
import json, sys
import osmosis_ai.rollout, osmosis_ai.rollout.types, osmosis_ai.rollout.server, osmosis_ai.rollout.trajectory
print(json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""
    assert python(code) == []


def test_a_framework_that_is_missing_is_named_with_what_to_install() -> None:
    code = f"""
import importlib, json, sys
said = []
for framework, (module, names) in {OPTIONAL!r}.items():
    sys.modules[framework] = None
    for name in names.split():
        try:
            getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            said.append(str(error))
print(json.dumps(said))
"""
    said = python(code)
    assert len(said) == 7
    assert all("pip install" in words for words in said)


def test_container_tasks_are_said_to_need_the_real_package() -> None:
    code = """
import asyncio
import json
try:
    from osmosis_ai.rollout.backend.harbor import HarborBackend
except ModuleNotFoundError as error:
    print(json.dumps(str(error)))
"""
    assert 'pip install "osmosis-ai[harbor]"' in python(code)


class Controller(LoopbackServer):
    """Keeps the callbacks."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, Any] = {}
        self.both = asyncio.Event()

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.told[request.path] = request.body
        connection.send(response(200, b"{}"))
        if len(self.told) == 2:
            self.both.set()


def answer(body: dict[str, Any]) -> ScriptedAnswer:
    if body["messages"][-1]["role"] == "tool":
        return ScriptedAnswer(f"{body['messages'][-1]['content']}")
    return ScriptedAnswer("", tool_calls=(("add", {"a": 2, "b": 2}),), finish_reason="tool_calls")


async def port_of(process: asyncio.subprocess.Process) -> int:
    """Return the port that uvicorn says it listens on."""
    assert process.stderr is not None
    async with asyncio.timeout(120):
        async for line in process.stderr:
            if b"running on http" in line:
                return int(line.split(b"running on ")[1].split()[0].rsplit(b":", 1)[1])
    raise AssertionError("the rollout's process never listened")


async def test_a_rollout_for_the_published_package_runs_without_a_change(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(SHIM),
        "_OSMOSIS_ROLLOUT_PORT": "0",
        "_OSMOSIS_ROLLOUT_ARTIFACT_ROOT": str(tmp_path),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "main.py", cwd=FOLDER, env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with ModelServer(answer) as model, Controller() as controller:
            wanted = {
                "initial_messages": [{"role": "user", "content": "What is 2+2?"}],
                "label": "4",
                "rollout_id": "row-0",
                "chat_completions_url": model.openai_url,
                "controller_api_key": "key",
                "completion_callback_url": f"{controller.url}/completion",
                "grader_callback_url": f"{controller.url}/grader",
                "agent_timeout_sec": 30,
                "grader_timeout_sec": 30,
            }
            url = f"http://127.0.0.1:{await port_of(process)}/rollout"
            assert (await send(url, json.dumps(wanted).encode())).status == 202
            async with asyncio.timeout(120):
                await controller.both.wait()
            assert controller.told["/completion"]["status"] == "success"
            judged = controller.told["/grader"]
            assert (judged["status"], judged["rollout_id"], judged["sample"]["reward"]) == ("success", "row-0", 1.0)
            assert judged["sample"]["metrics"] == {"tool_calls": 1.0, "turns": 4.0, "answer_length": 1}
            roles = [message["role"] for message in judged["sample"]["messages"]]
            assert roles == ["user", "assistant", "tool", "assistant"]
            assert {request.header("authorization") for request in model.calls} == {"Bearer key"}
            assert (tmp_path / "row-0" / "artifacts" / "calls.txt").read_text() == "1"
    finally:
        process.terminate()
        await process.wait()
