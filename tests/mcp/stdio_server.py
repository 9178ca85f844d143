"""A strict MCP server on standard input and output, with the standard library only. Its first argument is its fault.

It ends with exit code 70, and says why, when a client breaks the protocol.
"""

import json
import os
import sys
import time
from typing import Any

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
OTHERS = ("odd.name/x", "fail", "big", "tell", "die", "hang", "structured", "picture", "child")


def stop(why: str) -> None:
    print(f"the client broke the protocol: {why}", file=sys.stderr, flush=True)
    sys.exit(70)


def send(message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}}


def listed(cursor: str | None) -> dict[str, Any]:
    tools = [ADD, *(tool(name) for name in OTHERS)]
    if FAULT == "twice":
        return {"tools": [ADD, ADD]}
    if FAULT == "circles":
        return {"tools": [tool(f"t{time.monotonic_ns()}")], "nextCursor": "again"}
    if FAULT == "none":
        return {"tools": []}
    if FAULT == "changed":
        return {"tools": [{**ADD, "description": f"Add, started by {os.getpid()}."}]}
    if FAULT == "pages":
        place = int(cursor or 0)
        more = {"nextCursor": str(place + 1)} if place + 1 < len(tools) else {}
        return {"tools": [tools[place]], **more}
    return {"tools": tools}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "add":
        if set(arguments) != {"a", "b"}:
            return {"content": [{"type": "text", "text": "a and b are needed"}], "isError": True}
        return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}
    if name == "die":
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        time.sleep(3600)
    if name == "child":
        pid = os.fork()
        if pid == 0:
            time.sleep(3600)
        return {"content": [{"type": "text", "text": f"{os.getpid()} {pid}"}]}
    texts = {
        "odd.name/x": "odd",
        "big": "x" * 10_000_000,
        "tell": " ".join(os.environ.get(one, "unset") for one in ("TOOL_TOKEN", "OPENAI_API_KEY")),
    }
    if name == "structured":
        return {"content": [], "structuredContent": {"n": 1}}
    if name == "picture":
        return {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}
    return {"content": [{"type": "text", "text": texts.get(name, "no luck")}], "isError": name not in texts}


def answer(asked: dict[str, Any]) -> None:
    params = asked.get("params") or {}
    if asked["method"] == "tools/list":
        send({"id": asked["id"], "result": listed(params.get("cursor"))})
    elif asked["method"] == "tools/call":
        if params["name"] not in ("add", *OTHERS):
            send({"id": asked["id"], "error": {"code": -32602, "message": f"Unknown tool: {params['name']}"}})
            return
        if FAULT == "asks":
            send({"id": "s-1", "method": "sampling/createMessage", "params": {}})
            refused = json.loads(sys.stdin.readline())
            if refused.get("id") != "s-1" or refused.get("error", {}).get("code") != -32601:
                stop(f"a request that it does not offer was answered with {refused}")
        if FAULT == "flood":
            print("[" + "1," * 20_000_000 + "1]", flush=True)
        if FAULT == "noise":
            print('{"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}', flush=True)
        send({"id": asked["id"], "result": call(params["name"], params.get("arguments") or {})})
    else:
        stop(f"nothing offers {asked['method']}")


def main() -> None:
    if FAULT == "silent":
        time.sleep(3600)
    if FAULT == "greets":
        print("Listening…", flush=True)
    first = json.loads(sys.stdin.readline())
    if first["method"] != "initialize" or not {"protocolVersion", "capabilities", "clientInfo"} <= set(first["params"]):
        stop("it does not begin with initialize")
    if FAULT == "refuses":
        send({"id": first["id"], "error": {"code": -32600, "message": "not today"}})
        return
    version = (
        "1999-01-01" if FAULT == "old" else "2024-11-05" if FAULT == "older" else first["params"]["protocolVersion"]
    )
    described = {"name": FAULT.partition("=")[2] or "double", "version": "1"}
    send({"id": first["id"], "result": {"protocolVersion": version, "capabilities": {}, "serverInfo": described}})
    if json.loads(sys.stdin.readline())["method"] != "notifications/initialized":
        stop("it asks before notifications/initialized")
    if FAULT == "nonsense":
        print('{"jsonrpc": "2.0", "id": 2, "result"', flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("jsonrpc") != "2.0":
            stop("a message has no jsonrpc 2.0")
        if "id" in asked:
            answer(asked)


main()
