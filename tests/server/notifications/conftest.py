"""A server with a workspace, and a receiver of its messages on loopback."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import SecretStr

from mesocosm.core.ids import new_id
from mesocosm.core.run import Run
from mesocosm.server.notifications.delivery import check_target, deliver, store_target
from mesocosm.server.notifications.signing import new_secret
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import Store, open_store
from mesocosm.store.notifications import Delivery, Notification
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workspaces import Workspace


@dataclass
class Received:
    """A message as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Receiver:
    """Takes messages and answers as `answer` says; closes the connection while `dead`."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"ok")
    dead: bool = False
    hang: threading.Event | None = None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.receiver.received.append(Received(self.path, headers, body))
        if self.receiver.hang is not None:
            self.receiver.hang.wait(60)
        if self.receiver.dead:
            self.close_connection = True
            return
        status, more, content = self.receiver.answer
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on loopback."""
    made = Receiver()
    handler = type("Handler", (_Handler,), {"receiver": made})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}/services/T0/secret-part-of-the-path?key=secret-in-query"
    yield made
    if made.hang is not None:
        made.hang.set()
    server.shutdown()
    server.server_close()


@dataclass
class Place:
    """A server with a workspace that Ada owns."""

    folder: Path
    service: Service
    workspace: Workspace
    ada: int

    @property
    def store(self) -> Store:
        """Its store."""
        return self.service.store

    def notify(self, url: str, *events: str, name: str = "hook", **given: Any) -> tuple[Notification, str]:
        """Add a notification; return it with its secret."""
        wanted = Notification(
            id=new_id(),
            workspace_id=self.workspace.id,
            name=name,
            host=check_target(self.service.settings, url),
            events=events or ("finished", "failed", "stopped", "schedule"),
            created_by=self.ada,
            **({"format": "mesocosm"} | given),
        )
        made, secret = self.store.notifications.add(wanted, 100), new_secret()
        assert made is not None
        store_target(self.service, made, SecretStr(url), secret)
        return made, secret

    def under(self, **given: Any) -> Service:
        """Return the same server with other settings."""
        return Service(read_settings(data_dir=self.folder, **given), self.store)

    def enqueue(self, notification: Notification, **given: Any) -> Delivery:
        """Queue a message."""
        fields = {"id": "", "notification_id": notification.id, "event": "finished", "body": '{"a":"ü"}'} | given
        return self.store.deliveries.add(Delivery(**fields))

    async def send(self, service: Service | None = None) -> Delivery:
        """Make the next attempt that is due; return the message as it is then stored."""
        claimed = self.store.deliveries.claim("worker", 60.0)
        assert claimed is not None
        message, notification = claimed
        await deliver(service or self.service, message, notification)
        stored = self.store.deliveries.get(notification.id, message.id)
        assert stored is not None
        return stored

    def ended(self, run: Run, **given: Any) -> RunRequest:
        """Note that a stored run of the workspace has ended; return its request."""
        fields: dict[str, Any] = {
            "run_id": run.id,
            "actor": f"user:{self.ada}",
            "actor_name": "ada",
            "model": run.model,
            "kind": "rollout",
            "workspace_id": self.workspace.id,
            "name": f"run-{run.id[-6:]}",
            "configuration": "configs/eval/sums.toml",
            "commit_id": "c" * 40,
            "branch": "main",
            "created_at": run.created_at,
        }
        request = RunRequest(**(fields | given))
        self.store.run_requests.add(request)
        self.store.queue.end(run.id, "ended", "")
        self.store.queue.reopen(run.id)
        self.store.queue.end(run.id, "ended", "")
        return msgspec.structs.replace(request, state="ended")


@pytest.fixture
def open_place(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Return what opens the server with settings."""
    stores: list[Store] = []

    def opened(**given: Any) -> Place:
        store = open_store(tmp_path / DATABASE_NAME)
        stores.append(store)
        service = Service(read_settings(data_dir=tmp_path, **given), store)
        ada = store.users.add("ada").id
        made = store.workspaces.add("Reefs", ada)
        assert made is not None
        return Place(tmp_path, service, made, ada)

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def place(open_place: Callable[..., Place]) -> Place:
    """A server that may send to this machine."""
    return open_place(private_webhooks=True, public_url="https://evals.example.org/")
