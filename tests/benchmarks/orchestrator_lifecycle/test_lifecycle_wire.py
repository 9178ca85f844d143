"""A conversation with a model behind an endpoint that calls tools by its API."""

import json
from pathlib import Path
from typing import Any

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer


def called(**arguments: Any) -> ScriptedAnswer:
    return ScriptedAnswer("", tool_calls=(("TASKS", arguments),))


def diligent(body: dict[str, Any]) -> ScriptedAnswer:
    """Look, cancel the task whose title the user named, and report what it stood at."""
    messages = body["messages"]
    said = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    told = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
    if not told:
        return called(action="list_agents")
    task = next(one for one in told[0]["agents"] if f"the {one['title']}" in said)
    if len(told) == 1:
        return called(action="cancel", taskId=task["taskId"])
    return ScriptedAnswer(f"{task['title']} is off the board; it was at {task['progress']}.")


async def test_tools_are_offered_and_called_by_the_api(tmp_path: Path) -> None:
    reference = BenchmarkRef("benchmark", "orchestrator_lifecycle", {"knobs": {"scenario_filter": "cancel_task-plain"}})
    store = open_store(tmp_path / "results.sqlite")
    async with ModelServer(diligent) as server:
        model = ModelSettings(f"vllm/m@{server.openai_url}", max_tokens=1024)
        run = await session.run(RunSpec(reference, model, AgentSettings("chat"), Selection()), store)
        asked = [request.body for request in server.calls]
    store.close()
    assert run.primary is not None
    assert run.primary.value == 1.0
    assert [len(body["messages"]) for body in asked] == [2, 4, 6]
    assert {body["tools"][0]["function"]["name"] for body in asked} == {"TASKS"}
