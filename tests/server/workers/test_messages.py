"""Messages about runs, sent by workers as processes: also after one is killed, and beside an address that hangs."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import update

from mesocosm.core.ids import new_id
from mesocosm.core.run import RunStatus
from mesocosm.server.notifications.delivery import store_target
from mesocosm.server.notifications.signing import new_secret
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.store import tenancy
from mesocosm.store.notifications import DeliveryState, Notification, note_unannounced

pytestmark = pytest.mark.usefixtures("forked")


class Inbox:
    """Takes messages; answers none while `released` is not set and `hangs` is."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.ids: list[str] = []
        self.hangs = False
        self.released = threading.Event()
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.messages.append(json.loads(body))
                inbox.ids.append(self.headers["webhook-id"])
                if inbox.hangs:
                    inbox.released.wait(60)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """End it."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def open_inbox() -> Iterator[Callable[[], Inbox]]:
    """Return what opens a receiver."""
    opened: list[Inbox] = []

    def make() -> Inbox:
        opened.append(Inbox())
        return opened[-1]

    yield make
    for inbox in opened:
        inbox.close()


@pytest.fixture
def reefs(open_platform: Callable[..., Any]) -> tuple[Any, str]:
    """A platform that may send to this machine, and the id of a workspace on it."""
    platform = open_platform(private_webhooks=True)
    workspace = platform.service.store.workspaces.add("Reefs", None)
    assert workspace is not None
    return platform, workspace.id


def notify(platform: Any, workspace_id: str, inbox: Inbox, name: str) -> Notification:
    wanted = Notification(
        id=new_id(),
        workspace_id=workspace_id,
        name=name,
        host="http://127.0.0.1",
        format="mesocosm",
        events=("finished", "failed", "stopped"),
    )
    made: Notification = platform.service.store.notifications.add(wanted, 9)
    store_target(platform.service, made, SecretStr(inbox.url), new_secret())
    return made


def order(platform: Any, workspace_id: str, url: str) -> str:
    """Queue a run of the workspace."""
    run_id: str = platform.order(url, (1, 2), workspace_id=workspace_id, name=f"run-{new_id()}")
    platform.service.store.database.write(
        lambda connection: note_unannounced(platform.service.store.database, connection, run_id)
    )
    return run_id


def test_a_worker_tells_how_its_run_ended(reefs: tuple[Any, str], world: Any, open_inbox: Callable[[], Inbox]) -> None:
    platform, workspace_id = reefs
    inbox = open_inbox()
    hook = notify(platform, workspace_id, inbox, "hook")
    run_id = order(platform, workspace_id, world.url)
    assert platform.worker("--once", MESOCOSM_PRIVATE_WEBHOOKS="true").wait(120) == 0
    assert [(one["type"], one["data"]["run_id"]) for one in inbox.messages] == [("run.finished", run_id)]
    (sent,) = platform.service.store.deliveries.list(hook.id)
    assert (sent.id, sent.state) == (inbox.ids[0], DeliveryState.DELIVERED)


def test_a_run_that_was_cancelled_while_it_waited_is_told(
    reefs: tuple[Any, str], world: Any, open_inbox: Callable[[], Inbox]
) -> None:
    platform, workspace_id = reefs
    inbox = open_inbox()
    notify(platform, workspace_id, inbox, "hook")
    run_id = order(platform, workspace_id, world.url)
    cancel_run(platform.service, platform.service.store.run_requests.get(run_id))
    assert platform.worker("--once", MESOCOSM_PRIVATE_WEBHOOKS="true").wait(120) == 0
    assert [one["type"] for one in inbox.messages] == ["run.stopped"]


def test_an_address_that_hangs_delays_neither_runs_nor_other_messages(
    reefs: tuple[Any, str], world: Any, open_inbox: Callable[[], Inbox], eventually: Callable[..., None]
) -> None:
    platform, workspace_id = reefs
    slow, quick = open_inbox(), open_inbox()
    slow.hangs = True
    notify(platform, workspace_id, slow, "slow")
    notify(platform, workspace_id, quick, "quick")
    first = order(platform, workspace_id, world.url)
    platform.worker(MESOCOSM_PRIVATE_WEBHOOKS="true")
    eventually(lambda: len(slow.messages) == 1)
    second = order(platform, workspace_id, world.url)
    eventually(lambda: platform.run(second).status is RunStatus.FINISHED)
    eventually(lambda: [one["data"]["run_id"] for one in quick.messages] == [first, second])
    assert not slow.released.is_set()


def test_a_message_whose_worker_is_killed_is_sent_again_with_its_id(
    reefs: tuple[Any, str],
    world: Any,
    open_inbox: Callable[[], Inbox],
    eventually: Callable[..., None],
    kill: Callable[..., None],
) -> None:
    platform, workspace_id = reefs
    inbox = open_inbox()
    inbox.hangs = True
    hook = notify(platform, workspace_id, inbox, "hook")
    order(platform, workspace_id, world.url)
    first = platform.worker(MESOCOSM_PRIVATE_WEBHOOKS="true")
    eventually(lambda: len(inbox.messages) == 1)
    kill(first)
    inbox.hangs = False
    # The minute passes for which the dead worker has the message.
    platform.service.store.database.execute(update(tenancy.deliveries).values(lease_until=0.0))
    platform.worker(MESOCOSM_PRIVATE_WEBHOOKS="true")
    deliveries = platform.service.store.deliveries
    eventually(lambda: deliveries.list(hook.id)[0].state is DeliveryState.DELIVERED)
    assert (len(inbox.ids), len(set(inbox.ids))) == (2, 1)
