"""The native worker with a model that calls tools by its API: each thread is a valid conversation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import reference
from mesocosm.core.event import Kind
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.registry import MODELS
from mesocosm.core.run import AgentSettings, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store


class Model:
    """Delegates twice at once, computes in each worker, and finishes with the last report."""

    capabilities = Capabilities(tools=True)

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def check(self) -> None:
        """Nothing to check."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        offered = {tool.name for tool in request.tools}
        last = request.messages[-1]
        if "delegate" in offered and last.role == "user":
            given = {"instructions": "Compute 45 * 2."}
            return _calling(ToolCall("d1", "delegate", given), ToolCall("d2", "delegate", given))
        if "delegate" in offered:
            return _calling(ToolCall("f1", "finish", {"answer": last.text.split()[-1]}))
        if last.role == "user":
            return _calling(ToolCall("c1", "calculator", {"expression": "45*2"}))
        return ModelReply(f"It is {last.text}")

    async def close(self) -> None:
        """Nothing is held."""


def _calling(*calls: ToolCall) -> ModelReply:
    return ModelReply("", tool_calls=calls)


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    MODELS.register("twice")(lambda settings: made)
    yield made
    del MODELS._own["twice"]


async def test_every_call_is_followed_by_its_result_in_its_own_thread(model: Model, tmp_path: Path) -> None:
    ref = reference(read_catalogue().find("gaia_orchestrated"), {"providers": ["mesocosm"]})
    store = open_store(tmp_path / "results.sqlite")
    spec = RunSpec(ref, ModelSettings("twice/m"), AgentSettings("chat"), Selection((0,), None))
    run = await session.run(spec, store)
    (episode,) = store.episodes.list(run.id).items
    assert run.metrics[0].value == 1.0
    assert (episode.terminal_info["delegations"], episode.terminal_info["delegations_successful"]) == (2, 2)
    assert len(model.requests) == 6
    for request in model.requests:
        waiting: list[str] = []
        for message in request.messages:
            if message.role == "tool":
                waiting.remove(message.tool_call_id)
            else:
                assert waiting == []
            waiting += [call.id for call in message.tool_calls]
        assert waiting == []
    roles = [event.payload.get("role") for event in store.traces.events(episode.id) if event.kind is Kind.ACTION]
    assert roles == ["orchestrator", "worker-1", "worker-1", "worker-2", "worker-2", "orchestrator"]
