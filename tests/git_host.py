"""A git host on loopback with TLS: git http-backend behind a small server that asks for a login."""

import base64
import contextlib
import json
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

TOKEN = "swordfish-0123456789"
LOGIN = f"x-access-token:{TOKEN}"
PEM = Path(__file__).parent / "http" / "loopback.pem"
"""Certificate of the host, and of the authority that git has to trust (GIT_SSL_CAINFO)."""


class _Git(BaseHTTPRequestHandler):
    """Answers like a git host, by git http-backend.

    Repositories whose path has `private` in it are for LOGIN, `/moved/…` leads to the rest of its path, and a page of
    another kind is at `/page`. Statuses of commits are kept as by Gitea.
    """

    root = Path()
    statuses: ClassVar[list[tuple[str, Any]]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        given = self.headers.get("authorization", "")
        if path.startswith("/moved/"):
            self.answer(302, {"Location": self.path.removeprefix("/moved")}, b"")
            return
        if path.startswith("/page/"):
            self.answer(200, {"Content-Type": "text/html"}, b"<!doctype html>\n<p>Welcome</p>\n")
            return
        if "private" in path and given != f"Basic {base64.b64encode(LOGIN.encode()).decode()}":
            # Some servers repeat what they were sent.
            self.answer(401, {"WWW-Authenticate": 'Basic realm="git"', "Content-Type": "text/plain"}, given.encode())
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = {
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env={**os.environ, **asked}, capture_output=True, check=False
        )
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self.answer(int(fields.pop("Status", "200").split()[0]), fields, answer)

    def do_POST(self) -> None:
        if not self.path.startswith("/api/v1/repos/"):
            self.do_GET()
            return
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("authorization") != f"token {TOKEN}":
            self.answer(401, {}, b'{"message": "invalid token"}')
            return
        self.statuses.append((self.path, json.loads(body)))
        self.answer(201, {}, b"{}")

    def answer(self, status: int, fields: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**fields, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        return


@contextlib.contextmanager
def served(root: Path, statuses: list[tuple[str, Any]] | None = None) -> Iterator[str]:
    """Serve the repositories below a folder; yield the place as an operator lists it in git_hosts.

    Statuses of commits are added to `statuses`, each with the path of its request.
    """
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(PEM)
    handler = type("Git", (_Git,), {"root": root, "statuses": [] if statuses is None else statuses})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
