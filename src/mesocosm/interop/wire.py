"""Model calls as they went over the wire: the exact body, and the same call as a command and as a program."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.message import Message
from mesocosm.models import anthropic_messages, chat_completions, google_content, ollama

JSON = dict[str, Any]


def whole_body(path: str, rest: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> JSON:
    """Return the body of a recorded call: what was recorded of it, and its messages in the form of its API.

    `messages` are as recorded, with large content in place. Raises msgspec.ValidationError if they are no messages.
    """
    said = [msgspec.convert({key: value for key, value in one.items() if key != "index"}, Message) for one in messages]
    if path.endswith(":generateContent"):
        spoken = google_content.conversation(said)
    elif path.endswith("/messages"):
        spoken = anthropic_messages.conversation(said)
    elif path == ollama.PATH:
        spoken = {"messages": [ollama.wire_message(message) for message in said]}
    else:
        spoken = {"messages": chat_completions.wire_messages(said)}
    body = {**rest, **spoken}
    first = {name: body.pop(name) for name in ("model", "system", "messages") if name in body}
    found: JSON = msgspec.to_builtins({**first, **body})
    return found


def as_curl(address: str, path: str, body: Mapping[str, Any], provider: str) -> str:
    """Return a call as a command of curl; the key is a variable of the shell."""
    name, header = _key(path, provider)
    lines = [
        f"curl {shlex.quote(address.rstrip('/') + path)}",
        '-H "content-type: application/json"',
        f'-H "{header}{name}"',
        *(['-H "anthropic-version: 2023-06-01"'] if path.endswith("/messages") else []),
        f"-d {shlex.quote(json.dumps(body, ensure_ascii=False, indent=2))}",
    ]
    return " \\\n  ".join(lines)


def as_python(address: str, path: str, body: Mapping[str, Any], provider: str) -> str:
    """Return a call as a program with httpx; the key is a variable of the environment."""
    name, header = _key(path, provider)
    field, _, scheme = header.partition(": ")
    version = '\n    "anthropic-version": "2023-06-01",' if path.endswith("/messages") else ""
    return (
        "import json\nimport os\n\nimport httpx\n\n"
        f"body = json.loads({json.dumps(body, ensure_ascii=False, indent=2)!r})\n"
        f'headers = {{\n    "{field}": {scheme!r} + os.environ["{name.lstrip("$")}"],{version}\n}}\n'
        f"answer = httpx.post({address.rstrip('/') + path!r}, json=body, headers=headers, timeout=120)\n"
        "print(answer.status_code, answer.text)\n"
    )


def _key(path: str, provider: str) -> tuple[str, str]:
    """Return the variable of the key, and the header that it stands in."""
    if path.endswith("/messages"):
        return "$ANTHROPIC_API_KEY", "x-api-key: "
    if path.endswith(":generateContent"):
        return "$GEMINI_API_KEY", "x-goog-api-key: "
    plain = "".join(letter if letter.isalnum() else "_" for letter in provider.upper())
    return f"${plain or 'OPENAI'}_API_KEY", "authorization: Bearer "
