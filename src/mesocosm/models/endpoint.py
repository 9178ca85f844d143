"""Addresses and keys of providers, and a check whether an address is on this machine."""

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName

_VERSION = re.compile(r"(/+v1)+$")

_ANY_VERSION = re.compile(r"(/+v1(beta)?)+$")
PLACEHOLDERS = ("your", "changeme", "change-me", "placeholder", "replace", "todo", "xxx", "none", "null", "...", "<")

GENERAL_KEY = "MESOCOSM_API_KEY"

PROVIDERS = {
    "openai": "https://api.openai.com/v1",
    "vllm": "http://127.0.0.1:8001/v1",
    "groq": "https://api.groq.com/openai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "together": "https://api.together.xyz/v1",
}
"""Providers that speak the OpenAI protocol, with their public base URLs."""

NATIVE = {"anthropic": "https://api.anthropic.com", "gemini": "https://generativelanguage.googleapis.com"}
"""Providers that are asked in a protocol of their own, with the roots of their public addresses."""

ELSEWHERE = {
    "mistral": "https://api.mistral.ai",
    "deepseek": "https://api.deepseek.com",
    "xai": "https://api.x.ai",
}
"""Public addresses of providers that are reached through LiteLLM."""


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """The address of a model: base URL, the key to send (may be empty), the variables that can hold one.

    The base URL of a provider in NATIVE is its root, without the version.
    """

    base_url: str
    key: str = field(repr=False)
    variables: tuple[str, ...]
    needs_key: bool


def endpoint(name: ModelName) -> ModelEndpoint:
    """Return the endpoint that serves `name`.

    The URL is the name's own, or else `<PROVIDER>_BASE_URL` or `<PROVIDER>_API_BASE`, or else the provider's public
    one. For a custom address, MESOCOSM_API_KEY takes precedence over `<PROVIDER>_API_KEY`, which is sent only if
    `takes_key_of` allows it; for the public address the order is reversed. What `assign_keys` says of the model goes
    before that. Raises UsageError for a provider without an address.
    """
    provider = "gemini" if name.provider == "google" else name.provider
    prefix = _prefix(provider)
    public = PROVIDERS.get(provider) or NATIVE.get(provider, "")
    base_url = (name.base_url or configured(provider) or public).rstrip("/")
    if provider in NATIVE:
        base_url = _ANY_VERSION.sub("", base_url.removesuffix("/messages"))
    else:
        base_url = _VERSION.sub("/v1", base_url)
    if not base_url:
        raise UsageError(
            f"no address is known for provider {name.provider!r}; write "
            f"{name.provider}/{name.model}@http://HOST:PORT/v1 or set {prefix}_BASE_URL"
        )
    check_url(base_url, f"{name.provider}/{name.model}")
    own = ("GOOGLE_API_KEY", "GEMINI_API_KEY") if provider == "gemini" else (f"{prefix}_API_KEY",)
    variables: tuple[str, ...] = (*own, GENERAL_KEY) if base_url == public else (GENERAL_KEY, *own)
    if (assigned := assigned_variable(name)) is not None:
        variables = (assigned,)
    elif not takes_key_of(base_url, provider, public):
        variables = (GENERAL_KEY,)
    key = next((value for variable in variables if (value := _value(variable))), "")
    hosted = base_url == public and not is_loopback(base_url)
    return ModelEndpoint(base_url, key, variables, hosted)


def _value(variable: str) -> str:
    """Return a key from the environment; placeholders in those of Gemini are skipped, because examples set them."""
    value = os.environ.get(variable, "").strip()
    skipped = variable in {"GOOGLE_API_KEY", "GEMINI_API_KEY"} and value.lower().startswith(PLACEHOLDERS)
    return "" if skipped else value


_assigned: dict[str, str] = {}


def assign_keys(variables: Mapping[str, str]) -> None:
    """Set the variable that holds the key of each model, by its name as in ModelName, whose model may end in `*`.

    This is for processes that ask models for others, where the operator decides which key goes to which address. It
    replaces earlier assignments.
    """
    global _assigned  # noqa: PLW0603 -- one table, replaced at once: a thread may be reading it
    _assigned = dict(variables)


def assigned_variable(name: ModelName) -> str | None:
    """Return the variable that `assign_keys` has given the model, None if it has not."""
    exact = _assigned.get(str(name))
    if exact is not None:
        return exact
    for pattern, variable in _assigned.items():
        head, star, tail = pattern.partition("*")
        if star and str(name).startswith(head) and str(name).endswith(tail):
            return variable
    return None


def takes_key_of(url: str, provider: str, public: str = "") -> bool:
    """Return whether the key of `provider` may be sent to `url`.

    A key belongs to the address in `<PROVIDER>_BASE_URL` and to the provider's public one. Without such a variable it
    may be sent to any address given in a model's name, except to one that belongs to another provider: its public
    address, or one in a variable of that provider.
    """
    here, own = _origin(url), configured(provider)
    if here in {_origin(own), _origin(public)} - {""}:
        return True
    if own:
        return False
    return not any(owner != _prefix(provider) and _origin(place) == here for owner, place in _places())


def _places() -> Iterator[tuple[str, str]]:
    """Yield (variable prefix, address) for every known address of a provider."""
    for provider, place in {**PROVIDERS, **NATIVE, **ELSEWHERE}.items():
        yield _prefix(provider), place
    for variable, place in os.environ.items():
        owner = variable.removesuffix("_BASE_URL").removesuffix("_API_BASE")
        if owner != variable:
            yield owner, place


def _origin(url: str) -> str:
    """Return scheme, host and port of `url`; empty if it is not a URL."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".").lower()
    return f"{parts.scheme}://{'127.0.0.1' if host == 'localhost' else host}:{port}" if host else ""


def configured(provider: str) -> str:
    """Return the base URL that the environment sets for a provider; empty without one."""
    prefix = _prefix(provider)
    return (os.environ.get(f"{prefix}_BASE_URL") or os.environ.get(f"{prefix}_API_BASE") or "").strip()


def _prefix(provider: str) -> str:
    return provider.upper().replace("-", "_")


def check_url(url: str, subject: str) -> None:
    """Raise UsageError if `url` cannot be the base of HTTP requests."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"the base URL {without_credentials(url)!r} of {subject} is none; it reads http://HOST:PORT/v1 or https://HOST/v1"
        )


def is_loopback(url: str) -> bool:
    """Return whether the host of `url` is this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or address.is_unspecified


def without_credentials(url: str) -> str:
    """Return `url` in a printable form: without credentials, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        place = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return url.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path, "", ""))
