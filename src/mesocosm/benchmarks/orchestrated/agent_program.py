"""Installed coding agents: how each is started, and how its output is parsed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mesocosm.core.proxy import ProxyAddress

MOST_OUTPUT = 16 * 1024 * 1024
"""Maximum bytes of standard output that are parsed."""
_CLAUDE = {
    "sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, "allowUnsandboxedCommands": False},
    "disableAutoUpdate": True,
}
_CAPABILITIES = {
    "read": ("code.read", "research.docs_lookup"),
    "view": ("code.read", "research.docs_lookup"),
    "ls": ("code.read",),
    "list": ("code.read",),
    "glob": ("code.search",),
    "grep": ("code.search",),
    "write": ("code.write",),
    "edit": ("code.edit",),
    "multiedit": ("code.edit",),
    "patch": ("code.edit",),
    "applypatch": ("code.edit",),
    "filechange": ("code.edit",),
    "bash": ("code.shell", "research.code_exec"),
    "shell": ("code.shell", "research.code_exec"),
    "commandexecution": ("code.shell", "research.code_exec"),
    "websearch": ("research.web_search",),
    "webfetch": ("research.web_browse",),
}
_CALLS = frozenset({"tool_use", "tool_call", "tool", "function"})
_ITEMS = frozenset({"command_execution", "file_change", "web_search"})


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The parsed output of an agent: its last message, and the capabilities of the tools that it called."""

    text: str
    observed: tuple[str, ...]


def command(provider: str, program: str, prompt: str, address: ProxyAddress) -> list[str]:
    """Return the command line that starts an agent on a prompt, with the run's model at `address`."""
    model = address.model
    match provider:
        case "claude-code":
            words = ["-p", prompt, "--output-format", "stream-json", "--verbose", "--model", model]
            return [program, *words, "--permission-mode", "acceptEdits", "--settings", json.dumps(_CLAUDE)]
        case "codex":
            source = f'{{name="run", base_url="{address.url}/v1", env_key="OPENAI_API_KEY", wire_api="responses"}}'
            chosen = ["-c", 'model_provider="run"', "-c", f"model_providers.run={source}", "-m", model]
            return [program, "exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", *chosen, prompt]
        case "swe-agent":
            return [program, "-y", "--exit-immediately", "-m", f"openai/{model}", "-t", prompt]
    return [program, "run", "--format", "json", "-m", f"run/{model}", prompt]


def variables(provider: str, address: ProxyAddress) -> dict[str, str]:
    """Return the variables that an agent needs besides those of the address."""
    if provider != "opencode":
        return {"DISABLE_AUTOUPDATER": "1", "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"}
    options = {"baseURL": f"{address.url}/v1", "apiKey": "{env:OPENAI_API_KEY}"}
    known = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {address.model: {}}}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"run": known}, "autoupdate": False})}


def read_output(output: str) -> AgentOutput:
    """Parse lines of JSON; other lines count as plain text."""
    names: dict[str, None] = {}
    said: list[str] = []
    plain: list[str] = []
    for line in output.splitlines():
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            names |= dict.fromkeys(_called(record))
            said += _words(record)
        else:
            plain.append(line)
    text = said[-1] if said else "\n".join(plain[-200:]).strip()
    found = (_CAPABILITIES.get(name.lower().replace("_", "").replace("-", ""), ()) for name in names)
    return AgentOutput(text, tuple(dict.fromkeys(capability for several in found for capability in several)))


def _called(record: dict[str, Any]) -> Iterator[str]:
    """Yield the names of called tools, at any depth of a record."""
    waiting: list[Any] = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        if not isinstance(value, dict):
            continue
        kind = value.get("type")
        if kind in _ITEMS:
            yield str(kind)
        if kind in _CALLS:
            yield from _names((value.get("name"), value.get("tool")))
        function = value.get("function")
        if isinstance(function, dict):
            yield from _names((function.get("name"),))
        # Skip inputs and outputs of tools: they may contain any text.
        waiting += [
            inner for name, inner in value.items() if name not in {"input", "arguments", "content_text", "output"}
        ]


def _names(values: Iterable[Any]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def _words(record: dict[str, Any]) -> Sequence[str]:
    """Return the agent's messages in a record."""
    if record.get("type") == "result" and isinstance(record.get("result"), str):
        return [record["result"]]
    for part in (record.get("item"), record.get("part")):
        if (
            isinstance(part, dict)
            and part.get("type") in {"agent_message", "text"}
            and isinstance(part.get("text"), str)
        ):
            return [part["text"]]
    return []
