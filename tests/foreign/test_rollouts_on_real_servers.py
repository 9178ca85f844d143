"""`eval run-local`: rollouts written for agent frameworks, with a real server behind the frameworks' real packages."""

import pytest
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import KEY, RealServer
from tests.rollouts.published_rollout import Workspace, differences, expected

FRAMEWORKS = {
    "calculator": "the openai client",
    "librarian": "the anthropic client",
    "concierge": "the OpenAI Agents SDK",
    "reception": "Strands",
    "graph": "LangGraph",
}


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("isolation", ["process", "in-process"])
def test_a_rollout_of_a_framework_earns_what_it_should(
    name: str, isolation: str, laboratory: Laboratory, litellm_server: RealServer
) -> None:
    laboratory.variables.update({"OPENAI_API_KEY": KEY, "JUDGE_API_KEY": KEY})
    workspace = Workspace.of(laboratory.root, name, dependencies=[], python=">=3.11")
    words = workspace.words(litellm_server.openai_url)
    outcome = laboratory.mesocosm(*words, *(["--in-process"] if isolation == "in-process" else []))
    assert outcome.code in {0, 1}, outcome.err
    assert differences(workspace.rows(), expected(name)) == []
    played = laboratory.played()
    assert {call["model"] for call in played.calls} == {"openai/puppet"}
    assert all(call["usage"]["prompt"] > 0 for call in played.calls)
