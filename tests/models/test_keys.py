"""Which key goes to which address: never one provider's to another's."""

import itertools
from collections.abc import Callable

import pytest

from mesocosm.core.ports import Model
from mesocosm.core.proxy import Reachable

Opened = Callable[..., Model]
PUBLIC = {"openai": "https://api.openai.com/v1", "groq": "https://api.groq.com/openai/v1"}
OTHER = {"openai": "groq", "groq": "openai"}
VARIABLE = {"openai": "https://gateway.one/v1", "groq": "https://gateway.two/v1"}


def key_sent(opened: Opened, name: str) -> str:
    model = opened(name)
    assert isinstance(model, Reachable)
    return model.upstream.key


@pytest.mark.parametrize(
    ("provider", "address", "variables"),
    list(
        itertools.product(
            ["openai", "groq"],
            ["", "own public", "other public", "own variable", "other variable", "https://unknown.example/v1"],
            [(), ("openai",), ("groq",), ("openai", "groq")],
        )
    ),
)
def test_a_key_goes_only_where_it_belongs(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, provider: str, address: str, variables: tuple[str, ...]
) -> None:
    other = OTHER[provider]
    for name in PUBLIC:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", f"key-of-{name}")
    for name in variables:
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", VARIABLE[name])
    places = {
        "own public": PUBLIC[provider],
        "other public": PUBLIC[other],
        "own variable": VARIABLE[provider],
        "other variable": VARIABLE[other],
    }
    url = places.get(address, address)
    sent = key_sent(opened, f"{provider}/m@{url}" if url else f"{provider}/m")
    allowed = {
        "": True,
        "own public": True,
        "other public": False,
        "own variable": True,
        "other variable": other not in variables and provider not in variables,
    }.get(address, provider not in variables)
    assert sent == (f"key-of-{provider}" if allowed else "")
    monkeypatch.setenv("MESOCOSM_API_KEY", "general")
    assert key_sent(opened, f"{provider}/m@{url}" if url else f"{provider}/m") in {"general", f"key-of-{provider}"}
    if not allowed:
        assert key_sent(opened, f"{provider}/m@{url}") == "general"


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://gateway.one/v1", "https://unknown.example/v1"])
def test_anthropics_key_goes_to_no_other_address(opened: Opened, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.one")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.two")
    assert key_sent(opened, f"anthropic/claude@{url}") == ""
    assert key_sent(opened, "anthropic/claude") == "key-of-anthropic"


def test_a_port_and_a_path_tell_addresses_apart_as_origins_do(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9001/v1")
    assert key_sent(opened, "groq/m@http://127.0.0.1:9001/other/v1") == ""
    assert key_sent(opened, "groq/m@http://127.0.0.1:9002/v1") == "key"
