"""Tools of MCP servers, called by models on servers that were not written here.

llama.cpp holds a tiny model to valid calls by a grammar; LiteLLM passes on calls of a model that does what it is told.
At the other end is the server of the official SDK, which needs MESOCOSM_TEST_GUESTS.
"""

import os
import shlex
from pathlib import Path

import pytest
from tests.foreign.conftest import Laboratory, Played
from tests.foreign.real_servers import KEY, RealServer

import mesocosm as mc
from mesocosm.core.event import Kind

PYTHON = Path(os.environ.get("MESOCOSM_TEST_GUESTS", "/nowhere")).absolute() / "mcp" / "bin" / "python"
SERVER = Path(__file__).parents[1] / "guests" / "mcp_programs" / "server.py"
STDIO = "stdio:" + shlex.join([str(PYTHON), str(SERVER)])

ONE_TOOL = '''
from typing import Literal

from mcp.server.mcpserver import MCPServer

server = MCPServer("adder")
Few = Literal["1", "2", "3"]


@server.tool()
def add(a: Few, b: Few) -> int:
    """Add two numbers."""
    return int(a) + int(b)


server.run("stdio")
'''

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="MESOCOSM_TEST_GUESTS names no folder with an environment called mcp"
)


def asked(laboratory: Laboratory, server: RealServer, *questions: str) -> tuple[int, str, Played]:
    """Ask questions with `eval ask` and the tools of the SDK's server; return code, output, and the run."""
    rows = "".join(f"'{question}',3\n" for question in questions)
    file = laboratory.write("q.csv", "question,answer\n" + rows.replace('"', '""').replace("'", '"'))
    words = ("--prompt", "{{question}}", "--grader", "numeric", "--mcp", STDIO, "--mcp-rounds", "3", "--no-view")
    done = laboratory.mesocosm("eval", "ask", file, *words, "-m", server.named("puppet"))
    return done.code, done.out + done.err, laboratory.played()


def test_calls_that_pass_a_gateway_are_made_and_their_results_told(
    laboratory: Laboratory, litellm_server: RealServer
) -> None:
    code, out, played = asked(
        laboratory,
        litellm_server,
        '1 + 2? [[call add {"a": 1, "b": 2}]][[say 3]]',
        '1 + 2, twice? [[call add {"a": 1, "b": 2}; add {"a": 2, "b": 1}]][[say 3]]',
    )
    assert (code, played.values) == (0, [1.0, 1.0]), out
    calls = played.payloads(Kind.TOOL_CALL)
    assert [(call["name"], call["result"]) for call in calls] == [("add", "3")] * 3
    assert len(played.calls) == 4


def test_a_failing_tool_is_told_to_the_model_and_a_dead_server_is_no_wrong_answer(
    laboratory: Laboratory, litellm_server: RealServer
) -> None:
    _, out, played = asked(
        laboratory, litellm_server, "Fail. [[call fail {}]][[say 3]]", "Die. [[call die {}]][[say 3]]"
    )
    assert played.causes == ["", "environment_error"], out
    assert played.values == [1.0, None]
    assert played.payloads(Kind.TOOL_CALL)[0]["failed"] is True


def test_a_model_that_only_calls_tools_fails_by_itself(laboratory: Laboratory, litellm_server: RealServer) -> None:
    _, out, played = asked(laboratory, litellm_server, 'Add. [[call add {"a": 1, "b": 2}]][[again]]')
    assert played.causes == ["malformed_action"], out
    assert len(played.payloads(Kind.TOOL_CALL)) == 3


def test_a_real_engine_calls_the_tool_with_arguments_of_its_schema(
    llama_server: RealServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "server.py").write_text(ONE_TOOL)
    run = mc.evaluate(
        [{"question": "Add.", "answer": "3"}],
        prompt="{question}",
        grader="numeric",
        model=llama_server.named(),
        # A model that says noise must be urged to begin a call; the grammar of the tools holds it from there on.
        model_args={"tool_choice": "required", "logit_bias": {"{": 100}},
        max_tokens=300,
        mcp=["stdio:" + shlex.join([str(PYTHON), str(tmp_path / "server.py")])],
        mcp_options={"rounds": 2},
        store=tmp_path / "results",
    )
    (episode,) = run.episodes()
    calls = [event.payload for event in episode.events if event.kind == Kind.TOOL_CALL]
    assert calls
    sums = [call for call in calls if not call.get("failed")]
    assert sums
    assert all(int(call["result"]) == sum(map(int, call["arguments"].values())) for call in sums)
    assert run.score in {None, 0.0}
