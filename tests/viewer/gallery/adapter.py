"""An environment that shows one observation of every content type, and tries to run script in whoever looks at it."""

import argparse
import base64
import struct
import sys
import zlib
from typing import Any

from bench_common.env_sdk import BaseEnv, StepResult, serve

SCRIPT = "<script>window.__ran=1;parent.__ran=1;top.__ran=1</script><img src=x onerror='window.__ran=1;parent.__ran=1'>"
MANY = 10_000_000


def png() -> str:
    """Return a picture of 16 × 16 teal points, as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((0, 128, 128)) * 16 for _ in range(16))
    head = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    whole = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + whole).decode()


MARKDOWN = f"""# Heading

Some **bold** text, `code`, and a list:

- one
- two

| name | score |
|------|------:|
| x    |     1 |

[a link](javascript:window.__ran=1) [another](https://example.org) ![far](https://example.org/a.png)

{SCRIPT}
"""
PAGE = f"""<html><head><base href="https://example.org" target="_top">
<meta http-equiv="refresh" content="0;url=https://example.org/refresh">
<link rel="stylesheet" href="https://example.org/link.css"><style>@import url(https://example.org/import.css);
td {{ border: 1px solid teal }} body {{ background: url(https://example.org/back.png) }}
@font-face {{ font-family: f; src: url(https://example.org/font.woff) }} h1 {{ font-family: f }}</style></head>
<body onload="parent.__ran=1"><h1>Report</h1><table><tr><td>a</td><td>b</td></tr></table>{SCRIPT}
<a href="javascript:parent.__ran=1">press</a><form action="https://example.org"><button>send</button></form>
<a href="https://example.org/top" target="_top">away</a><img src="https://example.org/beacon.png">
<svg><a xlink:href="https://example.org/svg"><text y="9">x<set attributeName="href" to="javascript:parent.__ran=1"/>
</text></a></svg><iframe src="javascript:parent.__ran=1"></iframe></body></html>"""
DRAWING = f"""<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="window.__ran=1">
{SCRIPT}<circle cx="20" cy="20" r="15" fill="teal"/></svg>"""

OBSERVATIONS: list[tuple[Any, str]] = [
    (MARKDOWN, "text/markdown"),
    ({"board": [["X", "O", ""], ["", "X", ""], ["O", "", "X"]], "turn": "O", "message": SCRIPT}, "application/json"),
    ([{"name": "alpha", "score": 0.91, "ok": True}, {"name": SCRIPT, "score": None, "ok": False}], "application/json"),
    (PAGE, "text/html"),
    (png(), "image/png"),
    (DRAWING, "image/svg+xml"),
    ("no image at all", "image/png"),
    ('name,score\nalpha,0.9\n"be,ta",0.5\n=cmd(),1\n', "text/csv"),
    ({"deep": [[[[[[{"x": SCRIPT}]]]]]], "list": list(range(300)), "long": "x" * 3_000}, "application/json"),
    ("#######\n#@.k..#\n#.###.#\n#....G#\n#######", "text/plain"),
    (
        {"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": SCRIPT}]},
        "application/json",
    ),
    ("bell \x07 escape \x1b[31mred\x1b[0m zero \x00 turned \u202eright to left\u202c lone \ud800 end", "text/plain"),
    ("--- a/file.py\n+++ b/file.py\n@@ -1 +1 @@\n-    return 1\n+    return 2\n", "text/x-diff"),
    (SCRIPT + "A long line. " * (MANY // 13), "text/plain"),
    (SCRIPT, "text/<script>"),
]
"""What the steps show, one after the other."""


class Gallery(BaseEnv):
    """Shows one thing after the other; every fifth seed breaks in the middle, and says why on its error stream."""

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        """Begin."""
        self.step_number, self.seed = 0, seed or 0
        return {"data": "Answer anything.", "content_type": "text/plain"}

    def step(self, action: Any) -> StepResult:
        """Show the next thing."""
        data, content_type = OBSERVATIONS[self.step_number]
        self.step_number += 1
        if self.seed % 5 == 3 and self.step_number == 4:
            print(f"the board is gone {SCRIPT}", file=sys.stderr, flush=True)
            raise KeyError(f"board {SCRIPT}")
        ended = self.step_number >= len(OBSERVATIONS)
        return StepResult(data, 0.05, ended, False, {"note": SCRIPT}, content_type=content_type)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    serve(Gallery, port=parser.parse_args().port, host="127.0.0.1")
