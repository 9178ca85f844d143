"""Send the messages of notifications: signed, with a time limit, and again with growing pauses."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec
from pydantic import SecretStr

from mesocosm import __version__
from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.http.public import check_public
from mesocosm.http.retry_after import retry_after
from mesocosm.http.target import target
from mesocosm.server.auth.redaction import without_places
from mesocosm.server.key_ring import read_keys
from mesocosm.server.notifications.signing import signed_headers
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.server.workspace_secrets import set_secret
from mesocosm.store.notifications import Delivery, DeliveryState, Notification

PAUSES_S: Final = (5.0, 60.0, 300.0, 1_800.0, 7_200.0, 21_600.0, 43_200.0)
"""Seconds after each attempt that failed, before the next; after one more the message is given up."""
TEST = "test"
"""The event of messages that try a notification. They are sent once."""
ATTEMPT_S = 15.0
_CONNECT_S = 5.0
_MOST_READ, _LONGEST_ANSWER = 4_096, 300
_GONE = 410
_URL, _SECRET = "NOTIFICATION_URL", "NOTIFICATION_SECRET"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How an attempt went. `wait_s` is what the receiver asks for, `final` that it wants no other attempt."""

    done: bool
    status: int | None
    answer: str
    wait_s: float = 0.0
    final: bool = False


def check_target(settings: Settings, url: str) -> str:
    """Return scheme and host of a URL that messages may go to. Raises Refusal 422. Blocks while a name is resolved."""
    try:
        origin = target(url).origin
        if fault := _target_fault(settings, url):
            raise Refusal(422, f"no message can be sent to this URL: {fault}")
        if not settings.private_webhooks:
            check_public(url)
    except (UsageError, ValueError) as error:
        raise Refusal(422, f"no message can be sent to this URL: {error}") from None
    return f"{origin.scheme}://{origin.authority}"


def _target_fault(settings: Settings, url: str) -> str:
    """Return what is wrong with a URL, other than the address of its host; empty if nothing is."""
    parts = urlsplit(url)
    if parts.username is not None:
        return "it has a user or password in it; leave them out, for messages are signed"
    if parts.scheme.lower() != "https" and not settings.private_webhooks:
        return "it must begin with https://"
    return ""


def store_target(service: Service, notification: Notification, url: SecretStr, secret: str) -> None:
    """Store the URL and the secret of a notification, encrypted. Raises Refusal, InfrastructureError."""
    for name, value in ((_URL, url), (_SECRET, SecretStr(secret))):
        place = (service, notification.workspace_id, _holder(notification), name, value)
        set_secret(*place, notification.created_by)


def remove_target(service: Service, notification: Notification) -> None:
    """Delete the URL and the secret of a notification."""
    for name in (_URL, _SECRET):
        service.store.workspace_secrets.delete(notification.workspace_id, _holder(notification), name)


async def deliver(service: Service, message: Delivery, notification: Notification) -> None:
    """Make one attempt to send a claimed message, and store how it went.

    Raises InfrastructureError if the store cannot be reached; then the message is sent again, with the same id.
    """
    try:
        url, secret = await asyncio.to_thread(_read_target, service, notification)
    except InfrastructureError as error:
        outcome = _Outcome(done=False, status=None, answer=without_places(str(error), [service.settings.data_dir]))
    else:
        outcome = await _send(service.settings, message, url, secret)
    await asyncio.to_thread(_store, service, message, outcome)


def _read_target(service: Service, notification: Notification) -> tuple[str, str]:
    holder = _holder(notification)
    found = service.store.workspace_secrets.stored(notification.workspace_id, [holder], [_URL, _SECRET])
    keys = read_keys(service.settings) if len(found) == 2 else None
    if keys is None:
        raise InfrastructureError("the URL of this notification is not stored any more; remove it, and add it again")
    url, secret = (keys.decrypt(found[name].value, found[name].place) for name in (_URL, _SECRET))
    return url.get_secret_value(), secret.get_secret_value()


async def _send(settings: Settings, message: Delivery, url: str, secret: str) -> _Outcome:
    body, redactor = message.body.encode(), Redactor(_secrets_of(url, secret))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"mesocosm/{__version__}",
        **signed_headers(secret, message.id, time.time(), body),
    }
    # What the operator allowed may have changed since the notification was added.
    if fault := _target_fault(settings, url):
        return _Outcome(done=False, status=None, answer=fault, final=True)
    client = HttpClient(connect_timeout=_CONNECT_S, public_only=not settings.private_webhooks)
    outcome = _Outcome(done=False, status=None, answer=f"no answer within {ATTEMPT_S:g} s")
    try:
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(ATTEMPT_S),
                client.stream("POST", url, headers=headers, body=body, timeout=ATTEMPT_S) as response,
            ):
                outcome = _judged(response.status, "", response.headers.get("retry-after"))
                text = b""
                async for piece in response.pieces():
                    text += piece
                    if len(text) >= _MOST_READ:
                        break
                told = redactor.text(text[:_MOST_READ].decode("utf-8", "replace"))
                outcome = _judged(response.status, told, response.headers.get("retry-after"))
    except HttpError as error:
        # An answer whose status has come is one, whatever became of its rest.
        if outcome.status is None:
            outcome = _Outcome(done=False, status=None, answer=redactor.text(error.cause))
    finally:
        await client.close()
    return outcome


def _judged(status: int, text: str, wait: str | None) -> _Outcome:
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:_LONGEST_ANSWER]
    if 200 <= status < 300:
        return _Outcome(done=True, status=status, answer=words)
    if 300 <= status < 400:
        words = "the URL leads to another one, which is not followed; add the notification with that one"
    wait_s = retry_after({"retry-after": wait}.get) or 0.0
    return _Outcome(done=False, status=status, answer=words, wait_s=wait_s, final=status == _GONE)


def _store(service: Service, message: Delivery, outcome: _Outcome) -> None:
    told = msgspec.structs.replace(message, status=outcome.status, answer=outcome.answer)
    last = outcome.final or message.event == TEST or message.attempts > len(PAUSES_S)
    if outcome.done or last:
        state = DeliveryState.DELIVERED if outcome.done else DeliveryState.FAILED
        service.store.deliveries.save(msgspec.structs.replace(told, state=state))
        return
    pause = PAUSES_S[max(message.attempts, 1) - 1]
    service.store.deliveries.save(told, after_s=min(max(pause, outcome.wait_s), PAUSES_S[-1]))


def _secrets_of(url: str, secret: str) -> set[str]:
    """Return what an answer may repeat and nobody may read: parts of the URL are often its only protection."""
    parts = urlsplit(url)
    pieces = {part for part in (*parts.path.split("/"), *parts.query.replace("=", "&").split("&")) if len(part) > 7}
    return {url, secret, json.dumps(url)[1:-1], *pieces, *({parts.path} if len(parts.path) > 7 else ())}


def _holder(notification: Notification) -> str:
    return f"notification:{notification.id}"
