"""Traces over a WebSocket: who may listen, what they hear, when it ends, and cancelling."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from tests.server.routes.conftest import Person
from tests.server.routes.run_requests.conftest import Runs

from mesocosm.core.ids import new_id
from mesocosm.server.routes import socket as sockets


@pytest.fixture
def client(runs: Runs) -> Iterator[TestClient]:
    """A client that speaks WebSocket with the application."""
    with TestClient(runs.hosted.app) as made:
        yield made


def heard(client: TestClient, path: str, **headers: str) -> tuple[list[dict[str, Any]], int]:
    """Return everything that a socket says, and the code that it closes with."""
    try:
        with client.websocket_connect(path, headers=headers) as opened:
            return rest(opened)
    except WebSocketDisconnect as refused:
        return [], refused.code


def rest(opened: WebSocketTestSession) -> tuple[list[dict[str, Any]], int]:
    """Return what an open socket still says, and the code that it closes with."""
    events = []
    while True:
        try:
            events.append(json.loads(opened.receive_text()))
        except WebSocketDisconnect as end:
            return events, end.code


def bearer(person: Person) -> str:
    """Return the header that says who somebody is."""
    return f"Bearer {person.token}"


def test_the_whole_trace_of_an_episode_is_sent_once_and_in_order(runs: Runs, client: TestClient) -> None:
    run_id = runs.played(runs.ann, num_episodes=1)
    (episode,) = runs.ann.get(f"/v1/runs/{run_id}/episodes").json()
    events, code = heard(client, f"/v1/ws/episodes/{episode['id']}/trace", Authorization=bearer(runs.ann))
    assert events == runs.ann.get(f"/v1/test/episode/{episode['id']}/trace").json()
    assert (code, events[-1]["event_type"]) == (1000, "episode_end")
    by_token, _ = heard(client, f"/v1/ws/episodes/{run_id}.0/trace?token={runs.ann.token}")
    assert by_token == events


def test_who_may_not_read_a_run_hears_nothing_of_it(runs: Runs, client: TestClient) -> None:
    run_id = runs.played(runs.ann, num_episodes=1)
    path = f"/v1/ws/episodes/{run_id}.0/trace"
    assert heard(client, path, Authorization=bearer(runs.cid)) == ([], 4404)
    assert heard(client, path) == ([], 4404)
    for name in (new_id(), "x", "%00", f"{run_id}.9"):
        assert heard(client, f"/v1/ws/episodes/{name}/trace", Authorization=bearer(runs.ann)) == ([], 4404)


def test_who_is_outside_hears_a_public_run_without_its_words(runs: Runs, client: TestClient) -> None:
    run_id = runs.played(runs.ann, num_episodes=1, visibility="gallery_public")
    events, code = heard(client, f"/v1/ws/episodes/{run_id}.0/trace")
    assert (code, len(events) > 4, "swordfish" in json.dumps(events)) == (1000, True, False)


def test_a_socket_closes_when_its_episode_is_never_played(runs: Runs, client: TestClient) -> None:
    run_id = runs.ask(runs.ann, num_episodes=1)["id"]
    with client.websocket_connect(f"/v1/ws/episodes/{run_id}.0/trace?token={runs.ann.token}") as opened:
        runs.ann.post(f"/v1/runs/{run_id}/cancel")
        assert rest(opened) == ([], 1000)


def test_an_episode_is_heard_from_before_its_beginning(runs: Runs, client: TestClient) -> None:
    runs.world.held.add(0)
    run_id = runs.ask(runs.ann, num_episodes=1)["id"]
    path = f"/v1/ws/episodes/{run_id}.0/trace"
    with client.websocket_connect(path, headers={"Authorization": bearer(runs.ann)}) as open_socket:
        player = threading.Thread(target=runs.play)
        player.start()
        assert json.loads(open_socket.receive_text())["event_type"] == "episode_start"
        runs.world.reached.wait(60)
        runs.world.release.set()
        kinds = [event["event_type"] for event in rest(open_socket)[0]]
        player.join()
    assert (kinds[-1], kinds.count("step_result")) == ("episode_end", 2)


@pytest.mark.parametrize(("name", "status"), [("bob", "cancelled"), ("cid", "404")])
def test_cancelling_is_for_insiders(runs: Runs, client: TestClient, name: str, status: str) -> None:
    run_id = runs.ask(runs.ann, num_episodes=1, team_id=runs.team)["id"]
    person = {"bob": runs.bob, "cid": runs.cid}[name]
    path = f"/v1/ws/episodes/{run_id}.0/trace"
    with client.websocket_connect(path, headers={"Authorization": bearer(person)}) as open_socket:
        open_socket.send_text("no command at all")
        open_socket.send_text(json.dumps({"command": "cancel"}))
        with pytest.raises(WebSocketDisconnect):
            open_socket.receive_text()
    answer = runs.ann.get(f"/v1/runs/{run_id}").json()
    assert answer["status"] == ("cancelled" if status == "cancelled" else "pending")


def test_a_reader_of_a_public_run_cancels_nothing(runs: Runs, client: TestClient) -> None:
    run_id = runs.played(runs.ann, num_episodes=1, visibility="gallery_public")
    with client.websocket_connect(f"/v1/ws/episodes/{run_id}.0/trace") as open_socket:
        open_socket.send_text(json.dumps({"command": "cancel"}))
        assert rest(open_socket)[1] == 1000
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "completed"


def test_cookies_from_pages_of_others_do_not_count(runs: Runs, client: TestClient) -> None:
    guest = runs.hosted.guest()
    run_id = runs.ask(guest, num_episodes=1)["id"]
    path = f"/v1/ws/episodes/{run_id}.0/trace"
    cookie = f"bench_guest={guest.token}"
    events, code = heard(client, path, Cookie=cookie, Origin="https://evil.example")
    assert (events, code in {1008, 4404}) == ([], True)
    with client.websocket_connect(path, headers={"Cookie": cookie, "Origin": "http://testserver"}) as open_socket:
        open_socket.send_text(json.dumps({"command": "cancel"}))
        assert rest(open_socket) == ([], 1000)
    assert guest.get(f"/v1/runs/{run_id}").json()["status"] == "cancelled"


def test_one_person_has_only_so_many_sockets(runs: Runs, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_EACH", 1)
    run_id = runs.ask(runs.ann, num_episodes=1)["id"]
    path = f"/v1/ws/episodes/{run_id}.0/trace"
    with client.websocket_connect(path, headers={"Authorization": bearer(runs.ann)}) as first:
        first.send_text("still here")
        assert heard(client, path, Authorization=bearer(runs.ann)) == ([], 4429)
        first.close()
    runs.ann.post(f"/v1/runs/{run_id}/cancel")
    assert heard(client, path, Authorization=bearer(runs.ann))[1] == 1000


def test_visitors_behind_a_proxy_are_counted_by_their_own_addresses(
    open_runs: Callable[..., Runs], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, counted = open_runs(trusted_proxies=("127.0.0.1",)), list[str]()

    class Counting(sockets._Open):
        def enter(self, who: str) -> bool:
            counted.append(who)
            return super().enter(who)

    monkeypatch.setattr(sockets, "_open", Counting())
    run_id = runs.played(runs.ann, num_episodes=1, visibility="gallery_public")
    with TestClient(runs.hosted.app, client=("127.0.0.1", 5000)) as client:
        headers = {"X-Forwarded-For": "203.0.113.9"}
        assert heard(client, f"/v1/ws/episodes/{run_id}.0/trace", **headers)[1] == 1000
    assert counted == ["203.0.113.9"]
