"""The old client and the old register program against a platform on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench_common.core.run import AgentConfig, RunConfig
from bench_common.env_sdk.register import main
from mesocosm.client.transport import BenchApiError
from swecc_mesocosm import BenchClient

DOMAIN: dict[str, Any] = {
    "id": "kiln",
    "name": "Kiln",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "binary"},
        "episode": {"max_steps": 3},
    },
    "endpoint": {"url": "https://kiln.example"},
    "scoring": {"primary_metric": "r", "metrics": [{"name": "r", "type": "episode_reward", "aggregation": "mean"}]},
}


class Echo(ThreadingHTTPServer):
    """Answers each request with itself, at `/api` with the domain; lists where routes do; 409 for a taken id."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.taken: set[str] = set()
        self.registered: Any = None
        super().__init__(("127.0.0.1", 0), Answer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    def _any(self) -> None:
        assert isinstance(self.server, Echo)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        request = {"method": self.command, "path": self.path, "body": body, "auth": self.headers.get("Authorization")}
        self.server.seen.append(request)
        status, document = 200, [request] if self.path.split("?")[0].endswith(("/domains", "/episodes")) else request
        if self.path.startswith("/api/domains"):
            document = self.server.registered = body or self.server.registered
        if self.command == "POST" and self.path == "/v1/domains":
            status = 409 if body["id"] in self.server.taken else 200
            document = {"detail": "taken"} if status == 409 else request
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = _any  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Echo]:
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(tmp_path / "none.json"))
    for name in ("SWECC_BENCH_TOKEN", "SWECC_BENCH_GUEST_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with Echo() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_each_method_calls_its_route(platform: Echo) -> None:
    run = RunConfig(domain_id="kiln", binding_vow_version="1.0.0", agent_config=AgentConfig(model="ollama/a"))
    async with BenchClient(platform.url, "t0ken") as client:
        answers = [
            (await client.list_domains())[0],
            (await client.list_domains(published_only=True))[0],
            await client.get_domain("a/b"),
            await client.create_domain(DOMAIN),
            await client.publish_domain("kiln"),
            await client.test_episode(domain_id="kiln", seed=3),
            await client.create_run(run, visibility="private"),
            await client.get_run("r1"),
            (await client.list_episodes("r1"))[0],
            await client.get_run_traces("r1"),
        ]
    assert [(answer["method"], answer["path"]) for answer in answers] == [
        ("GET", "/v1/domains"),
        ("GET", "/v1/domains?published=true"),
        ("GET", "/v1/domains/a%2Fb"),
        ("POST", "/v1/domains"),
        ("POST", "/v1/domains/kiln/publish"),
        ("POST", "/v1/test/episode"),
        ("POST", "/v1/runs"),
        ("GET", "/v1/runs/r1"),
        ("GET", "/v1/runs/r1/episodes"),
        ("GET", "/v1/runs/r1/traces"),
    ]
    assert {answer["auth"] for answer in answers} == {"Bearer t0ken"}
    assert answers[5]["body"] == {"domain_id": "kiln", "seed": 3}
    assert answers[6]["body"]["agent_config"]["model"] == "ollama/a"
    assert answers[6]["body"]["visibility"] == "private"


async def test_an_upsert_updates_what_exists(platform: Echo) -> None:
    client = BenchClient(platform.url)
    assert (await client.upsert_domain(DOMAIN))["method"] == "POST"
    platform.taken.add("kiln")
    answer = await client.upsert_domain(DOMAIN)
    assert (answer["method"], answer["path"]) == ("PATCH", "/v1/domains/kiln")
    with pytest.raises(BenchApiError, match="taken"):
        await client.create_domain(DOMAIN)


def test_the_register_program_registers_and_publishes(platform: Echo, tmp_path: Path) -> None:
    script = tmp_path / "smelter" / "domain.py"
    script.parent.mkdir()
    script.write_text(f"DOMAIN_CONFIG = {DOMAIN!r}")
    assert main([str(script), "--api", platform.url, "--auto-id", "--publish"]) == 0
    assert [(request["method"], request["path"]) for request in platform.seen] == [
        ("POST", "/api/domains"),
        ("POST", "/api/domains/smelter/publish"),
    ]
    body = platform.seen[0]["body"]
    assert (body["id"], body["binding_vow"]["domain_id"], body["binding_vow"]["id"]) == (
        "smelter",
        "smelter",
        "smelter-vow",
    )
    assert main([str(script), "--api", platform.url, "--id", "oven"]) == 0
    assert platform.seen[-1]["body"]["id"] == "oven"


def test_a_bare_file_name_gives_its_directory_as_id(
    platform: Echo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "oven"
    directory.mkdir()
    (directory / "domain.py").write_text(f"DOMAIN_CONFIG = {DOMAIN!r}")
    monkeypatch.chdir(directory)
    assert main(["domain.py", "--api", platform.url, "--auto-id"]) == 0
    assert platform.seen[0]["body"]["id"] == "oven"


def test_the_register_program_reports_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "domain.py"
    assert main([str(script)]) == 2
    assert "there is no file" in capsys.readouterr().err
    script.write_text(f"DOMAIN_CONFIG = {DOMAIN!r}")
    assert main([str(script), "--api", "http://127.0.0.1:1"]) == 1
    assert "got no answer" in capsys.readouterr().err
