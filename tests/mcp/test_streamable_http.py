"""MCP servers behind a URL, well-behaved or not."""

import os

import pytest
from tests.mcp.double import UrlServer, url_server

from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.client import McpClient
from mesocosm.mcp.errors import AccessRefused, McpError, ProtocolBroken, ServerEnded, ServerUnreachable


def client(server: UrlServer, **headers: str) -> McpClient:
    return McpClient(
        ServerAddress(server.url, headers), environment={**os.environ, "KEY": "zebra-banana-quark"}, seconds=30.0
    )


@pytest.mark.parametrize("events", [False, True])
async def test_a_session_begins_lists_calls_and_ends(events: bool) -> None:
    async with url_server(events=events) as server:
        async with client(server) as mcp:
            assert [tool.name for tool in await mcp.tools()] == ["twice"]
            assert (await mcp.call("twice", {"n": 21})).text == "42"
            assert mcp.name == "remote"
        assert not server.refused
        assert server.sessions == {"session-0": "2025-11-25"}
        assert server.ended == ["session-0"]


async def test_a_header_has_the_value_of_its_variable_which_never_comes_back() -> None:
    async with url_server(key="zebra-banana-quark") as server, client(server, Authorization="Bearer $KEY") as mcp:
        assert (await mcp.call("twice", {"n": 1})).text == "2[redacted]"


@pytest.mark.parametrize(
    ("headers", "sent"), [({}, "no credential"), ({"Authorization": "$KEY"}, "the header Authorization")]
)
async def test_a_missing_or_wrong_credential_is_told_without_its_value(headers: dict[str, str], sent: str) -> None:
    async with url_server(key="another") as server:
        with pytest.raises(AccessRefused, match=f"refuses access .status 401. with {sent}; pass one") as raised:
            async with client(server, **headers):
                pass
    assert "zebra" not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        ("gone", ServerUnreachable, "answers initialize with status 404"),
        ("page", ProtocolBroken, "answered with text/html; is this its MCP endpoint"),
        ("moved", ServerUnreachable, "redirects .status 307.; name the URL"),
    ],
)
async def test_a_url_that_is_no_endpoint_is_an_error(fault: str, kind: type[McpError], said: str) -> None:
    async with url_server(fault=fault) as server:
        with pytest.raises(kind, match=said):
            async with client(server):
                pass


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("lost", "has ended the session .status 404 to tools/call."),
        ("cut", "broke off the connection during tools/call of twice"),
        ("ends", "ended its stream before it answered tools/call of twice"),
    ],
)
async def test_a_session_that_is_lost_is_an_error(fault: str, said: str) -> None:
    async with url_server(fault=fault, events=True) as server, client(server) as mcp:
        with pytest.raises(ServerEnded, match=said):
            await mcp.call("twice", {"n": 1})
    assert len(server.calls) == 1


async def test_nothing_at_the_address_is_an_error() -> None:
    with pytest.raises(ServerUnreachable, match=r"cannot be reached: cannot connect to 127\.0\.0\.1 port 9"):
        async with McpClient(ServerAddress("http://127.0.0.1:9/mcp")):
            pass
