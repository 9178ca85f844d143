"""Signatures of messages, by the scheme of Standard Webhooks (https://www.standardwebhooks.com)."""

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
_KEY_BYTES = 32


def new_secret() -> str:
    """Return a new secret in the form that receivers enter."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def signed_headers(secret: str, message_id: str, at: float, body: bytes) -> dict[str, str]:
    """Return the headers that let a receiver recognise a message, its time and its sender; `at` is in UNIX seconds."""
    stamp = str(int(at))
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signature = hmac.new(key, b".".join((message_id.encode(), stamp.encode(), body)), hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }
