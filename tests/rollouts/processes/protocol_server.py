"""A rollout server written from the published protocol alone: the entry file of rollouts in tests.

What a try does is the last word of its prompt. It runs everything on one event loop, and ends no try by itself.
With the variable POLLED it sends no callbacks, and tells results to who asks: only the `end`, or also when `grading`
begins.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CANCELLED: list[str] = []
SEEN: set[str] = set()
TASKS: set[asyncio.Task[None]] = set()
CAPACITY = os.environ.get("CAPACITY")
POLLED = os.environ.get("POLLED")
POLLS: dict[str, dict[str, Any]] = {}
CHANGED: dict[str, asyncio.Event] = {}
HOLDING = asyncio.Event()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        method, path, _ = line.decode().split(" ")
        size, lease = 0, ""
        while (header := await reader.readline()) not in {b"\r\n", b""}:
            name, _, value = header.decode().partition(":")
            size = int(value) if name.lower() == "content-length" else size
            lease = value.strip() if name.lower() == "x-osmosis-rollout-lease" else lease
        body = json.loads(await reader.readexactly(size) or b"{}")
        raw = await result(path.split("/")[2], lease) if path.endswith("/result") else route(method, path, body)
        writer.write(raw)
        await writer.drain()
        if not raw.startswith(b"HTTP"):
            break
    writer.close()


def route(method: str, path: str, body: dict[str, Any]) -> bytes:
    if path == "/health":
        instance = os.environ["_OSMOSIS_ROLLOUT_INSTANCE_ID"]
        told = {"status": "ok", "instance_id": instance}
        return http(200, {**told, "concurrency": {"max_concurrent": int(CAPACITY)}} if CAPACITY else told)
    if path == "/rollout/cancel":
        CANCELLED.extend(body["ids"])
        return http(200, {"dispositions": dict.fromkeys(body["ids"], "cancelled_running")})
    word = body["initial_messages"][-1]["content"]
    first = word not in SEEN
    SEEN.add(word)
    if word == "refused":
        return http(422, {"detail": "no such prompt"})
    if word == "busy" and first:
        return http(429, {}, "Retry-After: 0.05\r\n")
    if word == "garbage":
        return b"MARMALADE\r\n\r\n"
    if word == "cancelled once" and not os.path.exists("cancelled"):  # noqa: PTH110
        os.mkdir("cancelled")  # noqa: PTH102
        task = asyncio.create_task(tell(body, "completion", {"status": "cancelled", "err_message": "the server ends"}))
    else:
        task = asyncio.create_task(play(word, body))
    TASKS.add(task)
    task.add_done_callback(TASKS.discard)
    return http(202, admitted(body["rollout_id"]) if POLLED else {})


def admitted(name: str) -> dict[str, Any]:
    POLLS[name], CHANGED[name] = {"status": "running"}, asyncio.Event()
    return {"rollout_id": name, "status": "queued", "polling_lease_token": "ours", "result_wait_timeout_sec": 0.05}


async def result(name: str, lease: str) -> bytes:
    if lease != "ours" or name not in POLLS:
        return http(403, {"detail": "invalid polling lease"})
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(CHANGED[name].wait(), 0.05)
    CHANGED[name].clear()
    if POLLS[name].get("err_message") == "forget":
        del POLLS[name]
        return http(404, {"detail": "unknown rollout_id"})
    return http(200, {"rollout_id": name, **POLLS[name]})


def keep(name: str, kind: str, told: dict[str, Any]) -> None:
    """Note for polls what a callback would have told; the first end counts."""
    if POLLS[name]["status"] not in {"running", "grading"} or (POLLED == "end" and told == {"status": "success"}):
        return
    POLLS[name] = {"status": "grading"} if kind == "completion" and told["status"] == "success" else told
    CHANGED[name].set()


def http(status: int, body: Any, headers: str = "") -> bytes:
    data = json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def play(word: str, request: dict[str, Any]) -> None:
    messages = [*request["initial_messages"], {"role": "assistant", "content": said(word, request)}]
    failure = {
        "raises": ("agent_error", "boom"),
        "wrong": ("validation_error", "run() must return messages; got dict"),
        "value": ("validation_error", "invalid literal for int()"),
        "late": ("timeout", "workflow exceeded its 1.0s deadline"),
        "forgotten": ("agent_error", "forget"),
        "crashed": ("internal_error", "rollout task crashed"),
    }.get(word)
    if word == "artifact":
        folder = Path(os.environ["_OSMOSIS_ROLLOUT_ARTIFACT_ROOT"]) / request["rollout_id"] / "artifacts"
        folder.mkdir(parents=True)
        (folder / "note.txt").write_text("kept")
    if word == "never":
        await asyncio.sleep(3600)
    if word == "block":
        time.sleep(3600)  # noqa: ASYNC251 -- that it blocks is the point
    if word == "hold":
        HOLDING.set()
        time.sleep(0.6)  # noqa: ASYNC251 -- that it blocks is the point
    if word == "late once" and not os.path.exists("late"):  # noqa: ASYNC240, PTH110
        os.mkdir("late")  # noqa: PTH102
        await HOLDING.wait()
        failure = ("timeout", "workflow exceeded its deadline")
    if word == "exit":
        print("out of cheese", file=sys.stderr)
        os._exit(3)
    await tell(request, "completion", completed(*failure) if failure else {"status": "success"})
    if word == "twice":
        await tell(request, "completion", {"status": "success"})
        await tell(request, "completion", completed("agent_error", "no, it failed"))
    if word == "grader never":
        await asyncio.sleep(3600)
    if failure or word == "ungraded":
        await tell(request, "grader", {"status": "failure", "sample": None})
        return
    sample: dict[str, Any] = {"messages": messages, "reward": 0.5, "metrics": {"length": 3}, "extra_fields": {"a": 1}}
    if word == "removed":
        sample |= {"reward": None, "remove_sample": True}
    if word in {"grader raises", "no sample"}:
        there = word == "grader raises"
        told = completed("agent_error", "bad grade" if there else "'NoneType' object has no attribute 'messages'")
        await tell(request, "grader", {**told, "sample": sample | {"reward": None} if there else None})
        return
    halves = {name: {**sample, "reward": reward} for name, reward in (("a", 1.0), ("b", 0.0))}
    sent = {"samples": halves} if word == "several" else {"sample": sample}
    await tell(request, "grader", {"status": "success", **sent})


def said(word: str, request: dict[str, Any]) -> str:
    if word == "one key":
        return str(request["controller_api_key"])
    if word == "variables":
        return json.dumps(dict(os.environ))
    if word == "cancelled":
        return json.dumps(CANCELLED)
    if word == "process":
        return str(os.getpid())
    if word == "modules":
        wanted = ("mesocosm", "msgspec", "cheese", "osmosis_ai")
        return json.dumps([name for name in wanted if importlib.util.find_spec(name) is not None])
    if word == "secret":
        print(f"the key is {os.environ['API_KEY']}", flush=True)
    return f"said {word}"


def completed(category: str, message: str) -> dict[str, Any]:
    return {"status": "failure", "err_category": category, "err_message": message}


async def tell(request: dict[str, Any], kind: str, body: dict[str, Any]) -> None:
    if POLLED:
        keep(request["rollout_id"], kind, body)
        return
    url = urlsplit(request[f"{kind}_callback_url"])
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    data = json.dumps({**body, "rollout_id": request["rollout_id"]}).encode()
    head = (
        f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {request['controller_api_key']}\r\n"
    )
    writer.write(f"{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data)
    await writer.drain()
    await reader.read()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", int(os.environ["_OSMOSIS_ROLLOUT_PORT"]))
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
