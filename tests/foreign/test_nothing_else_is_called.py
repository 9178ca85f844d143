"""What agent frameworks connect to while a rollout runs: the proxy, and nothing else."""

import pytest
from tests.foreign.conftest import Laboratory
from tests.foreign.real_servers import KEY, RealServer
from tests.rollouts.published_rollout import Workspace, expected

GUARD = """
import os
import sys

def note(kind, host):
    if str(host) not in {"127.0.0.1", "localhost", "::1"}:
        with open(os.environ["CALLED"], "a") as file:
            file.write(f"{kind} {host}\\n")


def audit(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        note("connect", args[1][0])
    elif event == "socket.getaddrinfo" and args[0]:
        note("resolve", args[0] if isinstance(args[0], str) else args[0].decode())


sys.addaudithook(audit)
"""
TRACED = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_API_KEY": "a-key-of-langsmith",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.invalid:4318",
    "OPENAI_API_KEY": KEY,
}
"""What somebody has set who traces programs of their own."""


@pytest.mark.parametrize("name", ["concierge", "reception", "graph"])
def test_frameworks_in_this_process_connect_to_nothing_but_the_proxy(
    name: str, laboratory: Laboratory, litellm_server: RealServer
) -> None:
    workspace = Workspace.of(laboratory.root, name, dependencies=[], python=">=3.11")
    main = workspace.folder / "main.py"
    # A rollout that does not switch tracing off by itself, as most do not.
    main.write_text(main.read_text().replace("set_tracing_disabled(True)", ""))
    laboratory.write("guard/sitecustomize.py", GUARD)
    called = laboratory.write("called.txt", "")
    laboratory.variables.update({**TRACED, "PYTHONPATH": str(laboratory.root / "guard"), "CALLED": str(called)})
    outcome = laboratory.mesocosm(*workspace.words(litellm_server.openai_url), "--in-process")
    assert outcome.code == 0, outcome.err
    assert len(workspace.rows()) == len(expected(name))
    assert called.read_text() == ""
