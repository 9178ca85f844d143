"""The library of Standard Webhooks accepts our signatures, and nothing that was changed on the way."""

import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from mesocosm.server.notifications.signing import new_secret, signed_headers

BODY = '{"type":"run.finished","data":{"name":"größer"}}'


def test_the_library_accepts_a_message_and_reads_it() -> None:
    secret = new_secret()
    headers = signed_headers(secret, "01a20a86-e15c-78cc-bb35-b0740636a32d", time.time(), BODY.encode())
    assert Webhook(secret).verify(BODY, headers)["data"]["name"] == "größer"


@pytest.mark.parametrize("changed", ["body", "webhook-id", "webhook-timestamp", "secret", "late"])
def test_the_library_refuses_what_was_changed_or_comes_late(changed: str) -> None:
    secret = new_secret()
    headers = signed_headers(secret, "message", time.time() - (600 if changed == "late" else 0), BODY.encode())
    if changed in headers:
        headers[changed] = str(int(time.time()) + 1) if changed == "webhook-timestamp" else "another"
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret() if changed == "secret" else secret).verify(BODY + " " * (changed == "body"), headers)
