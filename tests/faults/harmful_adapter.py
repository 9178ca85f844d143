"""An adapter that does harm in its second step, each seed in its own way; standard library alone.

Its process ids are noted in the file `pids` beside it.
"""

import argparse
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

HARM = {
    1: "crash",
    2: "hang",
    3: "garbage",
    4: "status",
    5: "half",
    6: "huge",
    7: "list",
    8: "silence",
    9: "reward",
    10: "reset status",
    11: "reset garbage",
}


class Handler(BaseHTTPRequestHandler):
    """Seeds by episode; what is not harmful gives reward 1 and ends after three steps."""

    protocol_version = "HTTP/1.1"
    seeds: ClassVar[dict[str, int]] = {}
    steps: ClassVar[dict[str, int]] = {}

    def do_GET(self) -> None:
        self.answer(b'{"status": "ok"}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        episode = body["episode_id"]
        if self.path == "/reset":
            self.seeds[episode], self.steps[episode] = body["seed"], 0
            self.reset(HARM.get(body["seed"], ""))
        elif self.path == "/step":
            self.steps[episode] += 1
            self.step(HARM.get(self.seeds[episode], ""), self.steps[episode])
        else:
            self.answer(b"{}")

    def reset(self, harm: str) -> None:
        print(f"reset of {self.path} {harm}", file=sys.stderr, flush=True)
        if harm == "reset status":
            self.answer(b"no board left", 503)
        elif harm == "reset garbage":
            self.answer(b"\xff\xfe not json")
        else:
            self.answer(b'{"observation": {"at": 0}}')

    def step(self, harm: str, number: int) -> None:
        if number == 2 and harm:
            print(f"harm done: {harm}", file=sys.stderr, flush=True)
            getattr(self, f"do_{harm}", self.well)(number)
        else:
            self.well(number)

    def well(self, number: int) -> None:
        step: dict[str, Any] = {"observation": {"at": number}, "reward": 1, "done": number == 3, "info": {"won": True}}
        self.answer(json.dumps(step).encode())

    def do_crash(self, _: int) -> None:
        os._exit(3)

    def do_hang(self, _: int) -> None:
        threading.Event().wait()

    def do_garbage(self, _: int) -> None:
        self.answer(b"<html>Traceback of some framework</html>")

    def do_status(self, _: int) -> None:
        self.answer(b'{"detail": "the board is locked"}', 500)

    def do_half(self, _: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"observation": {"at"')
        self.close_connection = True

    def do_huge(self, _: int) -> None:
        self.answer(b'"' + b"z" * 100_000_000 + b'"')

    def do_list(self, _: int) -> None:
        self.answer(b"[1, 2, 3]")

    def do_silence(self, _: int) -> None:
        self.close_connection = True

    def do_reward(self, _: int) -> None:
        self.answer(b'{"observation": {}, "reward": "a lot", "done": false}')

    def answer(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        return


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    with Path("pids").open("a") as notes:
        notes.write(f"{os.getpid()}\n")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    server.daemon_threads = True
    server.serve_forever()
