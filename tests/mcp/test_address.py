"""Addresses of MCP servers: what is understood, and that credentials are named and never held."""

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.mcp.address import ServerAddress, read_addresses

KNOWN = {"TOKEN": "zebra-banana-quark"}


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", KNOWN["TOKEN"])
    monkeypatch.delenv("UNSET", raising=False)


def test_commands_and_urls_are_told_apart() -> None:
    command, url = read_addresses(["stdio:server --flag 'two words'", "http://127.0.0.1:1/mcp/"])
    assert command.local
    assert command.words(KNOWN) == ["server", "--flag", "two words"]
    assert url == ServerAddress("http://127.0.0.1:1/mcp")


def test_a_variable_is_expanded_in_one_word_and_shown_by_its_name() -> None:
    (found,) = read_addresses(["stdio:server --token $TOKEN"])
    assert found.words({"TOKEN": "a b"}) == ["server", "--token", "a b"]
    assert found.shown == "stdio:server --token $TOKEN"
    assert found.secrets(KNOWN) == {"zebra-banana-quark"}


def test_a_header_goes_to_the_only_url_or_to_the_one_that_is_named() -> None:
    one = read_addresses(["http://a/mcp", "stdio:x"], ["Authorization=Bearer $TOKEN"])
    assert one[0].headers == {"Authorization": "Bearer $TOKEN"}
    assert one[1].headers == {}
    two = read_addresses(["http://a/mcp", "http://b/mcp"], ["http://b/mcp X-Key=$TOKEN"])
    assert [one.headers for one in two] == [{}, {"X-Key": "$TOKEN"}]


@pytest.mark.parametrize(
    ("servers", "headers", "env", "said"),
    [
        (["stdio:"], [], [], "has no command"),
        (["stdio:'"], [], [], "cannot be read: No closing quotation"),
        (["ftp://x/y"], [], [], "must begin with http:// or https://"),
        (["server"], [], [], "write stdio:COMMAND"),
        (["stdio:x", "stdio:x"], [], [], "named twice"),
        (["stdio:x"], ["A=$TOKEN"], [], "--mcp-header is for MCP servers with a URL"),
        (["http://a/mcp"], [], ["TOKEN"], "--mcp-env is for MCP servers that are started"),
        (["http://a/mcp", "http://b/mcp"], ["A=$TOKEN"], [], "which server gets the header A"),
        (["http://a/mcp"], ["A=$UNSET"], [], "the variable UNSET is not set"),
        (["stdio:x $UNSET"], [], [], "the variable UNSET is not set"),
        (["stdio:x"], [], ["UNSET"], "the variable UNSET is not set"),
        (["stdio:x"], [], ["TOKEN=1"], "is no name of a variable"),
        (["http://a/mcp"], ["A b=$TOKEN"], [], "header 'A b' has characters"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_started(
    servers: list[str], headers: list[str], env: list[str], said: str
) -> None:
    with pytest.raises(UsageError, match=said.replace("$", r"\$")):
        read_addresses(servers, headers, env)


@pytest.mark.parametrize(
    ("server", "header"),
    [
        ("stdio:x --token sk-abcdefghijklmnopqrstuvwxyz012345", ""),
        ("stdio:x --api-key=sk-abcdefghijklmnopqrstuvwxyz012345", ""),
        ("http://user:secretword@a/mcp", ""),
        ("http://a/mcp?api_key=sk-abcdefghijklmnopqrstuvwxyz012345", ""),
        ("http://a/mcp", "Authorization=Bearer secretword"),
        ("http://a/mcp", "secretword"),
    ],
)
def test_a_credential_itself_is_refused_and_not_repeated(server: str, header: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_addresses([server], [header] if header else [])
    assert "secretword" not in str(raised.value)
    assert "sk-abc" not in str(raised.value)
