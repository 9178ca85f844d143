"""Messages on their way: what arrives, what is repeated, and what is never shown."""

import base64
import hashlib
import hmac
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing

import pytest
from sqlalchemy import update
from tests.server.notifications.conftest import Place, Received, Receiver

from mesocosm.core.redact import MARK
from mesocosm.server.notifications import delivery
from mesocosm.server.notifications.delivery import PAUSES_S, TEST, check_target, remove_target
from mesocosm.server.notifications.signing import new_secret
from mesocosm.server.refusal import Refusal
from mesocosm.store.notifications import DeliveryState
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.tenancy import deliveries

SECRETS = ("secret-part-of-the-path", "secret-in-query", "/services/T0")


def signature(secret: str, message: Received) -> str:
    """Return the signature of a message as its receiver computes it."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message.headers['webhook-id']}.{message.headers['webhook-timestamp']}.".encode() + message.body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def hurry(place: Place) -> None:
    """Make all messages due that wait to be tried again."""
    place.store.database.execute(update(deliveries).values(next_at=0.0))


async def test_a_message_arrives_signed_with_its_id(place: Place, receiver: Receiver) -> None:
    hook, secret = place.notify(receiver.url)
    queued = place.enqueue(hook)
    sent = await place.send()
    (message,) = receiver.received
    assert (sent.state, sent.status, sent.answer, sent.attempts) == (DeliveryState.DELIVERED, 200, "ok", 1)
    assert message.headers["webhook-id"] == queued.id
    assert message.headers["webhook-signature"] == signature(secret, message)
    assert message.headers["content-type"] == "application/json"
    assert message.path == "/services/T0/secret-part-of-the-path?key=secret-in-query"
    assert message.document == {"a": "ü"}


def test_every_notification_has_a_secret_of_its_own() -> None:
    made = {new_secret() for _ in range(10)}
    assert len(made) == 10
    assert all(len(base64.b64decode(one.removeprefix("whsec_"))) == 32 for one in made)


async def test_what_fails_is_sent_again_with_the_same_id_and_body(place: Place, receiver: Receiver) -> None:
    hook, secret = place.notify(receiver.url)
    place.enqueue(hook)
    receiver.answer = (500, {}, b"broken")
    first = await place.send()
    assert (first.state, first.status, first.answer) == (DeliveryState.PENDING, 500, "broken")
    assert first.next_at is not None
    receiver.answer = (204, {}, b"")
    hurry(place)
    assert (await place.send()).state is DeliveryState.DELIVERED
    one, two = receiver.received
    assert (one.headers["webhook-id"], one.body) == (two.headers["webhook-id"], two.body)
    assert two.headers["webhook-signature"] == signature(secret, two)


async def test_a_message_is_given_up_after_the_last_pause(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    queued = place.enqueue(hook)
    receiver.answer = (503, {}, b"")
    waited = []
    for _ in PAUSES_S:
        sent = await place.send()
        assert sent.state is DeliveryState.PENDING
        assert sent.next_at is not None
        waited.append(sent.next_at - queued.created_at)
        hurry(place)
    assert [round(seconds - pause) < 30 for seconds, pause in zip(waited, PAUSES_S, strict=True)] == [True] * 7
    assert waited == sorted(waited)
    last = await place.send()
    assert (last.state, last.attempts) == (DeliveryState.FAILED, len(PAUSES_S) + 1)
    assert place.store.deliveries.claim("worker", 60.0) is None


async def test_a_receiver_that_asks_for_time_gets_it(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    queued = place.enqueue(hook)
    receiver.answer = (429, {"Retry-After": "1000"}, b"")
    sent = await place.send()
    assert sent.next_at is not None
    assert sent.next_at - queued.created_at >= 1000
    receiver.answer = (429, {"Retry-After": "999999"}, b"")
    hurry(place)
    sent = await place.send()
    assert sent.next_at is not None
    assert sent.next_at - queued.created_at < PAUSES_S[-1] + 60


@pytest.mark.parametrize(
    ("status", "told"), [(410, "no more"), (301, "the URL leads to another one"), (404, "no more")]
)
async def test_what_a_receiver_refuses_is_told(place: Place, receiver: Receiver, status: int, told: str) -> None:
    hook, _ = place.notify(receiver.url)
    place.enqueue(hook)
    receiver.answer = (status, {"Location": "http://127.0.0.1:1/"}, b"no more")
    sent = await place.send()
    assert (sent.status, sent.state is DeliveryState.FAILED) == (status, status == 410)
    assert told in sent.answer
    assert len(receiver.received) == 1


async def test_a_trial_is_sent_once(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    place.enqueue(hook, event=TEST)
    receiver.answer = (500, {}, b"")
    assert (await place.send()).state is DeliveryState.FAILED


async def test_a_connection_that_breaks_is_an_attempt_that_failed(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    place.enqueue(hook)
    receiver.dead = True
    sent = await place.send()
    assert (sent.state, sent.status) == (DeliveryState.PENDING, None)
    assert sent.answer
    assert not any(word in sent.answer for word in SECRETS)


async def test_nobody_at_the_address_is_told_without_its_path(place: Place) -> None:
    hook, _ = place.notify("http://127.0.0.1:9/services/T0/secret-part-of-the-path")
    place.enqueue(hook)
    sent = await place.send()
    assert (sent.state, sent.status) == (DeliveryState.PENDING, None)
    assert "secret" not in sent.answer


async def test_a_receiver_that_hangs_is_left(place: Place, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, _ = place.notify(receiver.url)
    place.enqueue(hook)
    receiver.hang = threading.Event()
    monkeypatch.setattr(delivery, "ATTEMPT_S", 0.05)
    sent = await place.send()
    assert (sent.state, sent.status) == (DeliveryState.PENDING, None)
    assert "no" in sent.answer


async def test_an_answer_is_shown_short_and_without_what_it_repeats_of_the_url(
    place: Place, receiver: Receiver
) -> None:
    hook, secret = place.notify(receiver.url)
    place.enqueue(hook)
    receiver.answer = (400, {}, f"\x1b[31mno {receiver.url} {secret}\n".encode() + b"x" * 100_000)
    sent = await place.send()
    assert sent.status == 400
    assert MARK in sent.answer
    assert len(sent.answer) <= 300
    assert "\x1b" not in sent.answer
    assert not any(word in sent.answer for word in (*SECRETS, secret, secret.removeprefix("whsec_")))


async def test_a_large_answer_of_success_is_success(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    place.enqueue(hook)
    receiver.answer = (200, {}, b"x" * 3_000_000)
    assert (await place.send()).state is DeliveryState.DELIVERED


def test_url_and_secret_are_nowhere_in_the_database(place: Place, receiver: Receiver) -> None:
    _, secret = place.notify(receiver.url)
    with closing(sqlite3.connect(place.folder / DATABASE_NAME)) as connection:
        dump = "\n".join(connection.iterdump())
    assert "notification:" in dump
    assert not any(word in dump for word in (*SECRETS, secret, secret.removeprefix("whsec_")))


async def test_without_url_or_key_nothing_is_sent_and_the_reason_is_told(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    place.enqueue(hook)
    (place.folder / "secrets.key").unlink()
    assert "not stored any more" in (await place.send()).answer
    remove_target(place.service, hook)
    hurry(place)
    assert "not stored any more" in (await place.send()).answer
    assert not receiver.received


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://8.8.8.8/hook", "must begin with https"),
        ("https://127.0.0.1/hook", "not an address of the public internet"),
        ("https://localhost/hook", "not an address of the public internet"),
        ("https://10.0.0.1/hook", "not an address of the public internet"),
        ("https://169.254.169.254/latest", "not an address of the public internet"),
        ("https://[::ffff:127.0.0.1]/hook", "not an address of the public internet"),
        ("https://user:word@8.8.8.8/hook", "user or password"),
        ("ftp://8.8.8.8/hook", "http"),
        ("hook", "http"),
        ("https://[::1", "URL"),
    ],
)
def test_messages_go_to_public_addresses_over_https_alone(
    open_place: Callable[..., Place], url: str, told: str
) -> None:
    with pytest.raises(Refusal, match=told) as refused:
        check_target(open_place().service.settings, url)
    assert refused.value.status == 422
    assert "word" not in str(refused.value).partition("password")[0]


def test_the_operator_may_allow_addresses_of_the_network(place: Place) -> None:
    assert check_target(place.service.settings, "http://127.0.0.1:8065/hooks/x") == "http://127.0.0.1:8065"
    assert check_target(place.service.settings, "https://10.0.0.1/hooks/x") == "https://10.0.0.1"


async def test_what_was_allowed_and_is_no_more_is_not_sent(place: Place, receiver: Receiver) -> None:
    hook, _ = place.notify(receiver.url)
    other, _ = place.notify(receiver.url.replace("http:", "https:"), name="other")
    strict = place.under()
    place.enqueue(hook)
    sent = await place.send(strict)
    assert (sent.state, sent.answer) == (DeliveryState.FAILED, "it must begin with https://")
    place.enqueue(other)
    sent = await place.send(strict)
    assert "not an address of the public internet" in sent.answer
    assert not receiver.received
