"""Frames on the socket between a run and its worker processes: 4 bytes of length, one byte of kind, the body.

The bodies follow the rollout protocol: `play` has the body of `POST /rollout`, `completion` and `grading` have the
bodies of the two callbacks. Standard library only.
"""

from collections.abc import Iterator

PLAY, CANCEL, PING = b"J", b"X", b"P"
"""Sent to a worker: a row to run, JSON names of rows to cancel, a ping (any body)."""

HELLO, COMPLETION, GRADING, LINE, PONG, WORN = b"H", b"C", b"G", b"L", b"O", b"W"
"""Sent by a worker: ready (JSON with `capacity`), the two results of a row, a line it printed (JSON: name, stream,
text), the body of a ping, the name of a cancelled row whose code still runs."""


LONGEST = 256 * 1024 * 1024
"""Maximum number of bytes of a frame."""


class FrameTooLong(Exception):
    """A frame is longer than LONGEST."""


def frame(kind: bytes, body: bytes) -> bytes:
    """Return one frame."""
    return (len(body) + 1).to_bytes(4, "big") + kind + body


class FrameReader:
    """Splits a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._needed = 0

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield kind and body of each complete frame. Raises FrameTooLong."""
        if self._rest:
            self._rest += data
            # A long frame arrives in many pieces; only its last one is worth a copy.
            if len(self._rest) < self._needed:
                return
            data = bytes(self._rest)
        start, size, self._needed = 0, len(data), 0
        while size - start >= 4:
            length = int.from_bytes(data[start : start + 4], "big")
            if length > LONGEST:
                raise FrameTooLong
            end = start + 4 + length
            if end > size:
                self._needed = end - start
                break
            yield data[start + 4 : start + 5], data[start + 5 : end]
            start = end
        self._rest = bytearray(data[start:])
