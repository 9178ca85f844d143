"""Notifications of a workspace over the API: what is shown of them, and to whom."""

from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.server.permissions.notifications import MOST, MOST_TRIALS

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, OpenHosted, Person

URL = "https://8.8.8.8/services/T0/secret-part"


def place(owner: "Person") -> str:
    return f"/api/workspaces/{owner.post('/api/workspaces', {'name': 'Reefs'}).json()['id']}"


def added(person: "Person", path: str, **given: Any) -> Any:
    answer = person.post(f"{path}/notifications", {"url": URL} | given)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_the_secret_is_shown_once_and_the_url_never(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = place(ada)
    made = added(ada, path)
    assert made["secret"].startswith("whsec_")
    one = made["notification"]
    assert (one["name"], one["host"], one["format"], one["last"]) == ("8.8.8.8", "https://8.8.8.8", "mesocosm", None)
    assert one["events"] == ["finished", "failed", "stopped", "schedule"]
    for answer in (ada.get(f"{path}/notifications"), ada.get(f"{path}/notifications/8.8.8.8")):
        assert answer.status_code == 200
        assert "secret" not in answer.text
    audit = str([note.detail for note in hosted.service.store.audit.list(limit=20)])
    assert "8.8.8.8" in audit
    assert "secret-part" not in audit
    assert made["secret"] not in audit


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"url": "http://8.8.8.8/secret-part"}, "must begin with https"),
        ({"url": "https://127.0.0.1/secret-part"}, "not an address of the public internet"),
        ({"url": "https://u:p4ssword@8.8.8.8/secret-part"}, "user or password"),
        ({"url": "secret-part"}, "http"),
        ({"events": []}, ""),
        ({"events": ["started"]}, ""),
        ({"format": "teams"}, ""),
        ({"name": "a/b"}, ""),
    ],
)
def test_what_cannot_be_sent_is_refused_without_repeating_the_url(
    hosted: "Hosted", given: dict[str, Any], told: str
) -> None:
    ada = hosted.member("ada")
    path = place(ada)
    answer = ada.post(f"{path}/notifications", {"url": URL} | given)
    assert answer.status_code == 422
    assert told in answer.text
    assert "secret-part" not in answer.text
    assert "p4ssword" not in answer.text
    assert ada.get(f"{path}/notifications").json() == []


def test_names_are_made_of_the_host_and_differ(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = place(ada)
    names = [added(ada, path)["notification"]["name"] for _ in range(2)]
    assert names == ["8.8.8.8", "8.8.8.8-2"]
    answer = ada.post(f"{path}/notifications", {"url": URL, "name": "8.8.8.8"})
    assert (answer.status_code, "already" in answer.text) == (409, True)
    for _ in range(MOST - 2):
        added(ada, path)
    answer = ada.post(f"{path}/notifications", {"url": URL})
    assert (answer.status_code, "the most there may be" in answer.text) == (409, True)


def test_notifications_are_for_admins(hosted: "Hosted") -> None:
    ada, ben, cid = (hosted.member(name) for name in ("ada", "ben", "cid"))
    path = place(ada)
    added(ada, path)
    ada.post(f"{path}/members", {"username": "ben", "role": "member"})
    for person, status in ((ben, 403), (cid, 404)):
        assert person.get(f"{path}/notifications").status_code == status
        assert person.post(f"{path}/notifications", {"url": URL}).status_code == status
        assert person.post(f"{path}/notifications/8.8.8.8/test").status_code == status
        assert person.request("DELETE", f"{path}/notifications/8.8.8.8").status_code == status
    ada.request("PATCH", f"{path}/members/{ben.user_id}", json={"role": "admin"})
    assert len(ben.get(f"{path}/notifications").json()) == 1


def test_a_trial_waits_for_a_worker_and_is_logged(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = place(ada)
    added(ada, path)
    queued = ada.post(f"{path}/notifications/8.8.8.8/test")
    assert queued.status_code == 202
    message = queued.json()
    assert (message["event"], message["status"], message["attempts"]) == ("test", "pending", 0)
    assert ada.get(f"{path}/notifications/8.8.8.8/deliveries").json() == [message]
    assert ada.get(f"{path}/notifications/8.8.8.8/deliveries/{message['id']}").json() == message
    assert ada.get(f"{path}/notifications/8.8.8.8/deliveries/none").status_code == 404
    assert ada.get(f"{path}/notifications").json()[0]["last"] == message


def test_trials_are_limited(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = place(ada)
    added(ada, path)
    statuses = [ada.post(f"{path}/notifications/8.8.8.8/test").status_code for _ in range(MOST_TRIALS + 1)]
    assert statuses == [202] * MOST_TRIALS + [429]


def test_a_notification_is_removed_with_what_it_knew(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = place(ada)
    made = added(ada, path)["notification"]
    ada.post(f"{path}/notifications/8.8.8.8/test")
    assert ada.request("DELETE", f"{path}/notifications/{made['id']}").status_code == 204
    assert ada.get(f"{path}/notifications").json() == []
    store = hosted.service.store
    assert store.deliveries.claim("worker", 30.0) is None
    holder, workspace_id = f"notification:{made['id']}", path.rpartition("/")[2]
    assert store.workspace_secrets.list(workspace_id, [holder], 9) == ()


def test_an_operator_may_allow_this_network(open_hosted: "OpenHosted") -> None:
    hosted = open_hosted(private_webhooks=True)
    ada = hosted.member("ada")
    made = added(ada, place(ada), url="http://127.0.0.1:8065/hooks/x")
    assert made["notification"]["host"] == "http://127.0.0.1:8065"
    assert made["notification"]["name"] == "127.0.0.1"
