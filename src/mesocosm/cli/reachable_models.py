"""Which models this machine can ask: providers with a key, and what a running Ollama has."""

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass

GLANCE_S = 2.0
"""Seconds to wait for a server that may not be there."""


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """A provider whose key is set: its name, the variable with the key, and the address that is asked."""

    name: str
    variable: str
    base_url: str


def providers_with_keys() -> list[KnownProvider]:
    """Return the hosted providers whose key is in the environment."""
    from mesocosm.models.endpoint import ELSEWHERE, NATIVE, PROVIDERS, configured

    found = []
    for name, url in {**PROVIDERS, **NATIVE, **ELSEWHERE}.items():
        prefix = name.upper().replace("-", "_")
        variables = ("GOOGLE_API_KEY", "GEMINI_API_KEY") if name == "gemini" else (f"{prefix}_API_KEY",)
        variable = next((one for one in variables if os.environ.get(one, "").strip()), "")
        if variable:
            found.append(KnownProvider(name, variable, configured(name) or url))
    return found


def answers(provider: KnownProvider) -> str:
    """Return in a few words whether the provider answers with this key; asks for its list of models."""
    from mesocosm.client.urls import opener_for

    key = os.environ[provider.variable].strip()
    root = provider.base_url.rstrip("/")
    path, headers = "/models", {"Authorization": f"Bearer {key}"}
    if provider.name == "anthropic":
        path, headers = "/v1/models", {"x-api-key": key, "anthropic-version": "2023-06-01"}
    elif provider.name == "gemini":
        path, headers = "/v1beta/models", {"x-goog-api-key": key}
    elif not root.endswith("/v1"):
        path = "/v1/models"
    try:
        request = urllib.request.Request(root + path, headers=headers)  # noqa: S310 - http(s) by its configuration
        with opener_for(root).open(request, timeout=GLANCE_S):
            return "answers"
    except urllib.error.HTTPError as error:
        return "refuses the key" if error.code in {401, 403} else f"answers with status {error.code}"
    except (OSError, ValueError):
        return "does not answer"


def ollama_models() -> list[str] | None:
    """Return the models of the Ollama on this machine; None if none is running."""
    from mesocosm.client.urls import opener_for
    from mesocosm.core.model import ModelName
    from mesocosm.models.ollama import base_url

    url = base_url(ModelName.parse("ollama/any"))
    try:
        with opener_for(url).open(f"{url}/api/tags", timeout=GLANCE_S) as answer:
            return [str(item["name"]) for item in json.loads(answer.read(1_000_000))["models"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def choices() -> list[tuple[str, str]]:
    """Return models that can be named here, each with why, for a message that asks for one."""
    found = [(f"{one.name}/…", f"{one.variable} is set") for one in providers_with_keys()]
    found += [
        (f"ollama/{name.removesuffix(':latest')}", "running on this machine") for name in (ollama_models() or [])[:3]
    ]
    return [
        *found,
        ("replay/FILE.jsonl", "recorded answers"),
        ("builtin/oracle, builtin/empty", "ceiling and floor, no model needed"),
    ]


def which_model() -> str:
    """Return the message that asks for a model."""
    listed = choices()
    width = max(len(name) for name, _ in listed[:-1])
    return "which model? Add -m. Here you have\n" + "\n".join(f"  {name:<{width}}   {why}" for name, why in listed)
