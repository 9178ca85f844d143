"""Server-sent events, cut at any byte."""

import pytest

from mesocosm.http.sse import DONE, Splitter, data_of, event

STREAM = b"data: one\n\nevent: x\r\ndata: two\r\ndata: more\r\n\r\n: nothing\n\ndata:three\r\rdata: [DONE]\n\n"
EVENTS = [b"data: one\n\n", b"event: x\r\ndata: two\r\ndata: more\r\n\r\n", b": nothing\n\n", b"data:three\r\r", DONE]


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_events_are_the_same_wherever_the_stream_is_cut(size: int) -> None:
    splitter = Splitter()
    found = [one for at in range(0, len(STREAM), size) for one in splitter.feed(STREAM[at : at + size])]
    assert found == EVENTS
    assert splitter.rest() == b""


def test_data_is_what_the_fields_say() -> None:
    assert [data_of(one) for one in EVENTS] == [b"one", b"two\nmore", b"", b"three", b"[DONE]"]


def test_what_no_blank_line_ends_is_the_rest() -> None:
    splitter = Splitter()
    assert splitter.feed(b"data: a\n\ndata: b") == [b"data: a\n\n"]
    assert splitter.rest() == b"data: b"
    assert splitter.rest() == b""


def test_an_event_written_is_read_again() -> None:
    assert event({"a": "ü"}, "x") == 'event: x\ndata: {"a":"ü"}\n\n'.encode()
    assert data_of(event({"a": 1})) == b'{"a":1}'
