"""A signal ends a run that waits before its next try, however long the server asked it to wait."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.testing.loopback import LoopbackConnection, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.usefixtures("forked")

NO_GRACE = "import mesocosm.cli.signals as attendance; attendance.GRACE_S = 0.05"


class Busy(ModelServer):
    """A model that is always busy, and says for how long; `asked` is set when it has said so."""

    def __init__(self, wait: str) -> None:
        super().__init__("")
        self.asked = asyncio.Event()
        self._told = wait

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        """Refuse a question; others are answered."""
        if not request.path.endswith("/chat/completions"):
            super().receive(connection, request)
            return
        connection.send(response(429, b'{"error": {"message": "busy"}}', f"{self._told}\r\n"))
        self.asked.set()


@pytest.mark.parametrize(
    ("wait", "number"),
    [
        ("retry-after: 86400", signal.SIGINT),
        ("retry-after: 86400", signal.SIGTERM),
        ("retry-after-ms: nan", signal.SIGTERM),
    ],
)
async def test_a_signal_ends_a_run_that_waits_for_its_next_try(
    launch: Callable[..., Any], scaffolded: Path, tmp_path: Path, wait: str, number: signal.Signals
) -> None:
    async with Busy(wait) as server:
        given = ("--manifest", scaffolded, "--model", f"openai/busy@{server.openai_url}", "--episodes", "2")
        results = ("--results-dir", tmp_path, "--json")
        started = await launch("run", "local", *given, *results, before=NO_GRACE)
        await server.asked.wait()
        started.signal(number)
        ended = await started.end()
    assert ended.code == 130
    counts = ended.document["run"]["counts"]
    assert (counts["failed"], counts["owed"]) == (0, 2)
    assert ended.document["run"]["status"] == "stopped"
