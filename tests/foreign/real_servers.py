"""Model servers that were not written here: LiteLLM's proxy, and llama.cpp on a tiny model with random weights.

Both run as processes of their own, from a virtual environment that `make test-foreign` fills.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = "MESOCOSM_TEST_FOREIGN"
"""The variable that names the directory with the servers' programs."""

KEY = "sk-foreign-0123456789abcdef0123456789abcdef"
"""The key that every server here wants."""

PATIENCE = 300.0
"""Seconds until a test gives up waiting for a server to start. LiteLLM takes 10 on an idle machine."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer. `body` is None when it is not JSON."""

    status: int
    body: Any
    text: str
    content_type: str

    @property
    def error(self) -> Any:
        """The `error` object of the body, None without one."""
        return self.body.get("error") if isinstance(self.body, dict) else None


@dataclass(slots=True)
class RealServer:
    """A server on loopback. `model` is a name that it has, `log` the file with its output."""

    url: str
    model: str
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    key: str = KEY
    models: tuple[str, ...] = field(default=())

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"{self.url}/v1"

    def named(self, model: str = "") -> str:
        """Return the model as mesocosm's command line takes it."""
        return f"openai/{model or self.model}@{self.openai_url}"

    def ask(
        self, path: str, body: Any = None, *, key: str | None = None, method: str = "", raw: bytes | None = None
    ) -> Reply:
        """Send one request with nothing between us and the socket; an error status is an answer like any other."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        if path.endswith("/messages"):
            headers["anthropic-version"] = "2023-06-01"
        used = self.key if key is None else key
        if used:
            headers["authorization"] = f"Bearer {used}"
        request = urllib.request.Request(
            f"{self.url}{path}", data, headers, method=method or ("GET" if data is None else "POST")
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return _reply(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.read(), error.headers)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _reply(status: int, content: bytes, headers: Any) -> Reply:
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    return Reply(status, body, text, str(headers.get("content-type", "")))


def program(name: str) -> str:
    """Return the path of a program in the servers' environment."""
    return str(Path(os.environ[PROGRAMS]) / name)


def free_port() -> int:
    """Return a port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started(
    words: list[str], port: int, ready: str, model: str, log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[RealServer]:
    """Run a server until the block ends; it is ready once the path `ready` answers 200."""
    # Tests that are killed end no block; the kernel ends the server then.
    bound = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MESOCOSM_"))}
    environment = {**kept, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", **(variables or {})}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*bound, *words],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=log.parent,
            start_new_session=True,
        )
    server = RealServer(f"http://127.0.0.1:{port}", model, log, process)
    try:
        _wait(server, ready)
        yield server
    finally:
        server.kill()


def _wait(server: RealServer, ready: str) -> None:
    assert server.process is not None
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if server.process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            if server.ask(ready).status == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"the server did not start:\n{server.log.read_text(errors='replace')[-4000:]}")


LITELLM_MODELS = {
    "steady": {"mock_response": "the answer is 4"},
    "limited": {"mock_response": "litellm.RateLimitError"},
    "broken": {"mock_response": "litellm.InternalServerError"},
    "overflowing": {"mock_response": "litellm.ContextWindowExceededError"},
}
"""Models of LiteLLM's proxy that never ask another server."""


@contextlib.contextmanager
def litellm(place: Path, upstream: str = "") -> Iterator[RealServer]:
    """Run LiteLLM's proxy. With `upstream`, the model `puppet` is what answers at that OpenAI address."""
    models: dict[str, dict[str, Any]] = dict(LITELLM_MODELS)
    if upstream:
        models["puppet"] = {"api_base": upstream}
    listed = [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "upstream", **given}}
        for name, given in models.items()
    ]
    quiet = {"num_retries": 0, "telemetry": False}
    config = {
        "model_list": listed,
        "litellm_settings": quiet,
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }
    file = place / "litellm.json"
    file.write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    words = [program("litellm"), "--config", str(file), "--host", "127.0.0.1", "--port", str(port)]
    variables = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with started(words, port, "/health/liveliness", "steady", place / "litellm.log", variables) as server:
        server.models = tuple(models)
        yield server


CONTEXT, ROOMY = 2048, 16384
"""Tokens that llama.cpp's server takes, prompt and reply together, and those of one for long prompts."""


@contextlib.contextmanager
def llama(place: Path, port: int = 0, context: int = CONTEXT) -> Iterator[RealServer]:
    """Run llama.cpp's server on a model with random weights, whose name is `tiny`; port 0 is any free one."""
    file = place / "tiny.gguf"
    writer = Path(__file__).with_name("tiny_model.py")
    subprocess.run([program("python"), str(writer), str(file)], check=True, capture_output=True)
    port = port or free_port()
    server_program = Path(__file__).with_name("llama_server.py")
    words = [program("python"), str(server_program), str(file), "tiny", str(context), str(port), KEY]
    with started(words, port, "/v1/models", "tiny", place / "llama.log") as server:
        server.models = ("tiny",)
        yield server
