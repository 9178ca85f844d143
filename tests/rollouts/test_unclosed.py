"""What the garbage collector closes does not disturb who comes after."""

import asyncio
import gc
import os
import socket
from collections.abc import Iterator

import pytest

from mesocosm.rollouts.unclosed import safe_closing

pytestmark = pytest.mark.filterwarnings("ignore:unclosed transport:ResourceWarning")


@pytest.fixture
def safe() -> Iterator[None]:
    safe_closing.begin()
    yield
    safe_closing.end()


class Client(asyncio.Protocol):
    """Comes back when it is collected, as clients do that close themselves in a task then."""

    back: list["Client"]
    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def __del__(self) -> None:
        self.back.append(self)


@pytest.mark.usefixtures("safe")
@pytest.mark.parametrize("how", ["close", "abort", "write_eof"])
async def test_closing_a_collected_client_does_not_take_the_events_of_its_successor(how: str) -> None:
    loop, back = asyncio.get_running_loop(), list[Client]()
    (old, old_peer), (new, peer) = socket.socketpair(), socket.socketpair()
    number = old.fileno()
    transport, client = await loop.create_connection(Client, sock=old)
    client.back = back
    transport.pause_reading()
    del transport, client, old
    gc.collect()
    assert back
    os.dup2(new.fileno(), number)
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=number))
    reading = asyncio.ensure_future(reader.read(100))
    await asyncio.sleep(0)
    getattr(back[0].transport, how)()
    peer.sendall(b"hello")
    async with asyncio.timeout(60):
        assert await reading == b"hello"
    writer.close()
    await writer.wait_closed()
    for one in (new, old_peer, peer):
        one.close()


def test_it_ends_with_its_last_user() -> None:
    plain = asyncio.selector_events._SelectorTransport.__del__  # type: ignore[attr-defined]
    safe_closing.begin()
    safe_closing.begin()
    safe_closing.end()
    assert asyncio.selector_events._SelectorTransport.__del__ is not plain  # type: ignore[attr-defined]
    safe_closing.end()
    assert asyncio.selector_events._SelectorTransport.__del__ is plain  # type: ignore[attr-defined]
