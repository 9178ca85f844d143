"""Connect ssh to a host through the HTTP proxy of its sandbox. Run confined; standard library only.

python -I -S ssh_through_proxy.py HOST PORT
"""

import os
import socket
import sys
import threading
from urllib.parse import urlsplit

_CHUNK = 64 * 1024
_OK = 200


def main() -> None:
    """Ask the proxy for the host, then carry bytes between it and standard input and output."""
    place = f"{sys.argv[1]}:{sys.argv[2]}"
    proxy = urlsplit(os.environ["https_proxy"])
    there = socket.create_connection((proxy.hostname or "", proxy.port or 0))
    there.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # One byte at a time, because what follows belongs to ssh.
        piece = there.recv(1)
        if not piece:
            sys.exit("the proxy closed the connection")
        head += piece
    if int(head.split()[1]) != _OK:
        sys.exit(there.recv(_CHUNK).decode(errors="replace").strip() or "the proxy refused the connection")
    threading.Thread(target=_send, args=(there,), daemon=True).start()
    while data := there.recv(_CHUNK):
        os.write(1, data)


def _send(there: socket.socket) -> None:
    while data := os.read(0, _CHUNK):
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
