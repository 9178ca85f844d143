"""Addresses and keys of OpenAI-compatible providers."""

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName
from mesocosm.models.endpoint import check_url, endpoint, without_credentials


def place(name: str) -> tuple[str, str]:
    found = endpoint(ModelName.parse(name))
    return found.base_url, found.key


def test_each_provider_takes_its_own_key_at_its_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESOCOSM_API_KEY", "general")
    monkeypatch.setenv("GROQ_API_KEY", " own ")
    assert place("groq/m")[1] == "own"
    assert place("openrouter/m")[1] == "general"


def test_at_a_chosen_address_the_general_key_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "own")
    assert place("openai/m@https://gateway.example/v1")[1] == "own"
    monkeypatch.setenv("MESOCOSM_API_KEY", "general")
    assert place("openai/m@https://gateway.example/v1")[1] == "general"


def test_the_name_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://third/v1")
    assert place("openai/m")[0] == "http://third/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://second/v1/")
    assert place("openai/m")[0] == "http://second/v1"
    assert place("openai/m@http://first/v1")[0] == "http://first/v1"


def test_only_public_addresses_need_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert endpoint(ModelName.parse("openai/m")).needs_key
    assert not endpoint(ModelName.parse("vllm/m")).needs_key
    assert not endpoint(ModelName.parse("openai/m@http://10.0.0.1/v1")).needs_key
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert not endpoint(ModelName.parse("openai/m")).needs_key


def test_a_provider_without_an_address_is_told_how_to_give_one() -> None:
    with pytest.raises(UsageError, match="MY_LAB_BASE_URL"):
        endpoint(ModelName.parse("my-lab/m"))


@pytest.mark.parametrize("url", ["", "host", "ftp://host", "http://", "http://[::1", "http://h:x", "http://h:0"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="of X is none"):
        check_url(url, "X")


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://user:secret@host:80/v1?key=secret#x", "http://host:80/v1"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
        ("http://user:secret@host:port/v1", "host:port/v1"),
    ],
)
def test_addresses_are_shown_without_secrets(url: str, text: str) -> None:
    assert without_credentials(url) == text


@pytest.mark.parametrize("base", ["http://h/v1", "http://h/v1/", "http://h/v1/v1", "http://h/v1//v1/", "http://h//v1"])
def test_a_doubled_version_and_slashes_behind_it_are_understood(base: str) -> None:
    assert place(f"openai/m@{base}")[0] == "http://h/v1"
