"""A framework of the tests: it asks how much 1 + N is."""

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Adder:
    """Asks its model over HTTP; the third task kills its process when `args` say so."""

    def __init__(self) -> None:
        self.args: Mapping[str, Any] = {}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        if source == "nothing":
            raise LookupError("there is no task called nothing")
        if source == "death":
            os.kill(os.getpid(), signal.SIGKILL)
        self.args = args
        print("loaded", source)
        metrics = [{"name": "accuracy", "score": "right", "low": 0.0, "high": 1.0, "primary": True}]
        return {
            "id": f"adder/{source}",
            "title": "Adder",
            "version": "1",
            "digest": Path(str(args["content"])).read_text() if "content" in args else "d" * 32,
            "tasks": 5,
            "metrics": metrics,
            "trials": args.get("trials", 1),
            "whole": "kept" if "whole" in args else "",
        }

    def whole(self, infos: list[Mapping[str, Any]], **_: Any) -> list[dict[str, Any]]:
        if Path(str(self.args["whole"])).exists():
            raise ValueError("the corpus is lost")
        return [{"name": "corpus", "value": float(sum(one["n"] for one in infos)), "count": len(infos)}]

    def _once(self) -> bool:
        """Return whether the mark of `dies_once` is there, and remove it."""
        mark = Path(str(self.args.get("dies_once", "")))
        found = mark.is_file()
        if found:
            mark.unlink()
        return found

    def die(self, **_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def tasks(self, **_: Any) -> Iterator[dict[str, Any]]:
        for place in range(5):
            yield {"task": {"id": f"t{place}", "place": place, "input": f"1 + {place}?", "target": str(1 + place)}}

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        yield {"entry": {"id": "sums", "run": "adder:sums", "title": "Sums", "tasks": 5}}
        yield {"entry": {"id": "hard_sums", "run": "adder:hard_sums", "needs": ["docker"]}}

    async def play(self, tell: Any, place: int, base_url: str, key: str, model: str, **_: Any) -> dict[str, Any]:
        if place == 2 and (self.args.get("dies") or self._once()):
            os.kill(os.getpid(), signal.SIGKILL)
        if place == 1 and self.args.get("limited"):
            return {"status": self.args["limited"], "scores": [{"name": "right", "value": 0.0}]}
        if place == 3 and self.args.get("fails"):
            raise ValueError("no such sum")
        body = {"model": model, "messages": [{"role": "user", "content": f"1 + {place}?"}]}
        said = await asyncio.to_thread(_ask, f"{base_url}/chat/completions", key, body)
        tell("tool_call", {"name": "sum", "arguments": {"a": 1, "b": place}, "token": key})
        value = None if place == 4 and self.args.get("unscored") else float(said.strip() == str(1 + place))
        return {
            "status": "completed",
            "scores": [{"name": "right", "value": value, "missing": "grader_error"}],
            "answer": said + " " * int(self.args.get("spaces", 0)),
            "info": {"kept": {"n": place}} if "whole" in self.args else {},
        }


def _ask(url: str, key: str, body: dict[str, Any]) -> str:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def framework() -> Adder:
    return Adder()
