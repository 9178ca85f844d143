"""`mesocosm workspace notify …` against a server with a worker, and a receiver on loopback."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.remote.conftest import working

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Open, Platform


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        refuses = self.path.endswith("gone")
        self.send_response(404 if refuses else 200)
        self.end_headers()
        self.wfile.write(b"no_service" if refuses else b"ok")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[str]:
    """Return the URL of what takes messages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/services/secret-part"
    server.shutdown()
    server.server_close()


@pytest.fixture
def platform(open_platform: "Open") -> "Platform":
    """A server that may send to this machine, and the command line of Ada, who owns a workspace."""
    platform: Platform = open_platform(private_webhooks=True)
    platform.is_now("ada")
    platform("workspace", "create", "Reefs", "--use")
    return platform


def test_a_notification_is_added_tried_and_removed(platform: "Platform", receiver: str) -> None:
    assert "no notifications; add one" in platform("workspace", "notify", "list").err
    added = platform("workspace", "notify", "add", receiver, "--event", "failed", "--name", "team")
    assert added.code == 0, added.err
    assert "Secret, shown once: whsec_" in added.out
    with working(platform.service):
        tried = platform("workspace", "notify", "test", "team")
    assert (tried.code, tried.out) == (0, "Delivered (200 ok).\n")
    listed = platform("workspace", "notify", "list").out
    assert "test delivered" in listed
    assert "secret-part" not in listed
    assert "test" in platform("workspace", "notify", "log", "team").out
    (message,) = platform("workspace", "notify", "log", "team", "--json").document
    assert (message["event"], message["answer_status"]) == ("test", 200)
    asked = platform("workspace", "notify", "remove", "team", stdin="n\n")
    assert (asked.code, "nothing was removed" in asked.err) == (1, True)
    assert platform("workspace", "notify", "remove", "team", "--yes").code == 0
    assert platform("workspace", "notify", "list", "--json").document == []


def test_a_receiver_that_refuses_is_told_and_the_url_may_come_through_a_pipe(
    platform: "Platform", receiver: str
) -> None:
    added = platform("workspace", "notify", "add", "--format", "slack", stdin=f"{receiver}/gone\n")
    assert added.code == 0, added.err
    assert "Secret" not in added.out
    with working(platform.service):
        tried = platform("workspace", "notify", "test", "127.0.0.1")
    assert (tried.code, tried.out) == (1, "Not delivered (404 no_service).\n")


def test_what_cannot_be_sent_is_refused_without_the_url(open_platform: "Open") -> None:
    platform: Platform = open_platform()
    platform.is_now("ada")
    platform("workspace", "create", "Reefs", "--use")
    refused = platform("workspace", "notify", "add", "https://127.0.0.1/secret-part")
    assert refused.code != 0
    assert "not an address of the public internet" in refused.err
    assert "secret-part" not in refused.err + refused.out
    refused = platform("workspace", "notify", "add", "--event", "failed", stdin="")
    assert refused.code == 2
