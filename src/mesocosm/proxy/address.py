"""Environment variables that point common clients to an address."""

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache

from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.proxy import ProxyAddress

_INSIDE = frozenset({"builtin", "replay"})
_LOOPBACK = ("127.0.0.1", "localhost")


def address(url: str, token: str, settings: ModelSettings) -> ProxyAddress:
    """Return the address at root URL `url` for the client with `token`."""
    name = _name(settings.name)
    return ProxyAddress(url, token, Variables(url, token, name.provider), name.provider, name.model, settings)


@lru_cache(64)
def _name(text: str) -> ModelName:
    return ModelName.parse(text)


class Variables(Mapping[str, str]):
    """The variables of an address, built on first access: most clients in this process never need them."""

    __slots__ = ("_found", "_of")

    def __init__(self, url: str, token: str, provider: str) -> None:
        self._of = (url, token, provider)
        self._found: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, str]:
        if self._found is None:
            self._found = _variables(*self._of)
        return self._found


def _variables(url: str, token: str, provider: str) -> dict[str, str]:
    base = f"{url}/v1"
    found: dict[str, str] = {}
    for prefix in {"VLLM", *(() if provider in _INSIDE else (provider.upper().replace("-", "_"),))}:
        found |= {f"{prefix}_BASE_URL": base, f"{prefix}_API_BASE": base, f"{prefix}_API_KEY": token}
    return found | {
        "OPENAI_BASE_URL": base,
        "OPENAI_API_BASE": base,
        "OPENAI_API_KEY": token,
        "BENCHMARK_BASE_URL": base,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_BASE": url,
        "ANTHROPIC_API_KEY": token,
        "ANTHROPIC_AUTH_TOKEN": token,
        "NO_PROXY": _direct("NO_PROXY"),
        "no_proxy": _direct("no_proxy"),
    }


def _direct(variable: str) -> str:
    """Return the user's proxy exceptions plus the loopback addresses, so that no HTTP proxy is used for them."""
    return _with_loopback(os.environ.get(variable, ""))


@lru_cache(8)
def _with_loopback(exceptions: str) -> str:
    given = [entry.strip() for entry in exceptions.split(",") if entry.strip()]
    return ",".join(dict.fromkeys([*given, *_LOOPBACK]))
