"""Registering a domain at a platform on loopback."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mesocosm.client.registration import (
    domain_from_manifest,
    domain_from_script,
    publish_domain,
    register_domain,
    renamed,
)
from mesocosm.client.transport import BenchApi, BenchApiError
from mesocosm.client.urls import LOCAL, PRODUCTION
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.vow import VowViolation
from mesocosm.environments.domain import DomainConfig

CONFIG: dict[str, Any] = {
    "id": "quarry",
    "name": "Quarry",
    "binding_vow": {
        "id": "quarry-vow",
        "domain_id": "quarry",
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "binary"},
        "episode": {"max_steps": 5},
    },
    "endpoint": {"mode": "remote", "url": "https://quarry.example"},
    "scoring": {
        "primary_metric": "won",
        "metrics": [{"name": "won", "type": "episode_reward", "aggregation": "mean"}],
    },
}


@dataclass
class Platform:
    """A platform that keeps domains and remembers what it was asked."""

    url: str = ""
    domains: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    raw: tuple[int, bytes] | None = None
    promised: int | None = None

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "POST" and path == "/bench/api/domains":
            if body["id"] in self.domains:
                return 409, {"detail": "domain id exists"}
            self.domains[body["id"]] = body
            return 200, body
        identity = path.split("/")[4]
        if identity not in self.domains:
            return 404, {"detail": "no such domain"}
        if path.endswith("/publish"):
            return 200, self.domains[identity] | {"status": "published"}
        self.domains[identity] |= body
        return 200, self.domains[identity]


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Platform]:
    for name in ("MESOCOSM_BASE_URL", "SWECC_BENCH_URL", "BENCH_API_URL", "MESOCOSM_LOCAL", "SWECC_BENCH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SWECC_BENCH_GUEST_TOKEN", raising=False)
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(tmp_path / "credentials.json"))
    state = Platform()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
            state.requests.append((self.command, self.path, self.headers.get("Authorization", "")))
            status, data = state.raw or (0, b"")
            if state.raw is None:
                status, document = state.answer(self.command, self.path, body)
                data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(state.promised or len(data)))
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}/bench"
        yield state
        server.shutdown()
        thread.join()


def test_a_new_domain_is_created_with_one_line(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    answer = register_domain(CONFIG, api_url=platform.url, token="t0ken")
    assert answer["id"] == "quarry"
    assert platform.domains["quarry"]["binding_vow"]["version"] == "1.0.0"
    assert "owner_id" not in platform.domains["quarry"]
    assert platform.requests == [("POST", "/bench/api/domains", "Bearer t0ken")]
    assert capsys.readouterr().out == f"registered domain quarry (Quarry) at {platform.url}\n"


def test_registering_again_updates(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    register_domain(CONFIG, api_url=platform.url)
    register_domain(DomainConfig.model_validate(CONFIG | {"name": "Pit"}), api_url=platform.url)
    assert platform.domains["quarry"]["name"] == "Pit"
    assert platform.requests[-1] == ("PATCH", "/bench/api/domains/quarry", "")
    assert capsys.readouterr().out.endswith(f"updated domain quarry (Pit) at {platform.url}\n")


def test_what_is_returned_has_every_field_of_a_domain(platform: Platform) -> None:
    answer = register_domain(CONFIG, api_url=platform.url)
    assert (answer["binding_vow"]["episode"]["max_steps"], answer["status"], answer["tags"]) == (5, "draft", [])


def test_without_updates_an_existing_id_is_an_error(platform: Platform) -> None:
    register_domain(CONFIG, api_url=platform.url)
    with pytest.raises(BenchApiError, match="domain id exists"):
        register_domain(CONFIG, api_url=platform.url, update_if_exists=False)


def test_a_vow_that_breaks_its_rules_is_not_sent(platform: Platform) -> None:
    with pytest.raises(VowViolation):
        register_domain(CONFIG | {"binding_vow": CONFIG["binding_vow"] | {"version": "1"}}, api_url=platform.url)
    assert platform.requests == []


def test_publishing(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    register_domain(CONFIG, api_url=platform.url)
    assert publish_domain("quarry", api_url=platform.url)["status"] == "published"
    assert capsys.readouterr().out.endswith(f"published domain quarry at {platform.url}\n")


def test_an_id_cannot_reach_another_route(platform: Platform) -> None:
    with pytest.raises(BenchApiError, match="no such domain"):
        publish_domain("../runs?x=1", api_url=platform.url)
    assert platform.requests[0][1] == "/bench/api/domains/..%2Fruns%3Fx%3D1/publish"


def test_a_redirect_is_not_followed_with_the_token(platform: Platform) -> None:
    platform.raw = (302, b"")
    with pytest.raises(BenchApiError) as caught:
        BenchApi(platform.url, "t0ken").records("/v1/domains")
    assert caught.value.status == 302
    assert len(platform.requests) == 1


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ((500, b"broken pipe"), r"broken pipe \(HTTP 500 for POST "),
        ((422, b'{"detail": [{"loc": ["body", "id"], "msg": "too long"}]}'), r"id: too long \(HTTP 422 "),
        ((200, b"<html>"), "the answer is not JSON"),
        ((200, b"[]"), "the answer is not an object"),
        ((500, b""), r"Internal Server Error \(HTTP 500 "),
    ],
)
def test_refusals_carry_the_platforms_own_words(platform: Platform, raw: tuple[int, bytes], words: str) -> None:
    platform.raw = raw
    with pytest.raises(BenchApiError, match=words):
        publish_domain("quarry", api_url=platform.url)


def test_half_an_answer_is_no_answer(platform: Platform) -> None:
    platform.raw = (200, b'{"id": "quarry"}')
    platform.promised = 1000
    with pytest.raises(BenchApiError, match="got no answer: IncompleteRead"):
        publish_domain("quarry", api_url=platform.url)


def test_a_platform_that_is_not_there_is_named() -> None:
    with pytest.raises(BenchApiError, match=r"127\.0\.0\.1:1/api/domains/x/publish got no answer") as caught:
        publish_domain("x", api_url="http://127.0.0.1:1")
    assert caught.value.status == 0


@pytest.mark.parametrize("url", ["ftp://x", "platform", "file:/etc/passwd", "http://"])
def test_only_web_addresses_are_platforms(url: str) -> None:
    with pytest.raises(UsageError, match="is not a URL of a server"):
        BenchApi(url)


def test_url_and_token_come_from_the_caller_then_the_environment_then_the_saved_login(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert (BenchApi().base_url, BenchApi().token) == (PRODUCTION, "")
    monkeypatch.setenv("MESOCOSM_LOCAL", "Yes")
    assert BenchApi().base_url == LOCAL
    (tmp_path / "credentials.json").write_text('{"bench_url": "http://saved/", "token": "s", "mode": 5}')
    assert (BenchApi().base_url, BenchApi().token) == ("http://saved", "s")
    for name in ("BENCH_API_URL", "SWECC_BENCH_URL", "MESOCOSM_BASE_URL"):
        monkeypatch.setenv(name, f"http://{name.lower().replace('_', '-')}")
        assert BenchApi().base_url == f"http://{name.lower().replace('_', '-')}"
    for name in ("SWECC_BENCH_GUEST_TOKEN", "SWECC_BENCH_TOKEN"):
        monkeypatch.setenv(name, name)
        assert BenchApi().token == name
    assert (BenchApi(platform.url, "mine").base_url, BenchApi(platform.url, "mine").token) == (platform.url, "mine")


@pytest.mark.parametrize("content", ["{", "[]", "5"])
def test_a_saved_login_that_cannot_be_read_is_named_where_it_is_needed(
    platform: Platform, tmp_path: Path, content: str
) -> None:
    (tmp_path / "credentials.json").write_text(content)
    assert BenchApi(platform.url, "mine").token == "mine"
    with pytest.raises(UsageError, match=r"credentials\.json .*remove it and log in again"):
        BenchApi(platform.url)


def test_a_manifest_becomes_a_domain(tmp_path: Path) -> None:
    manifest = {key: CONFIG[key] for key in ("name", "binding_vow", "scoring")} | {"adapter": "a.py", "tags": ["x"]}
    (tmp_path / "benchanything.json").write_text(json.dumps(manifest | {"detail": "dig"}))
    (tmp_path / "a.py").touch()
    found = domain_from_manifest(tmp_path / "benchanything.json", domain_id="pit", env_url="http://127.0.0.1:9")
    assert (found.id, found.name, found.detail, found.tags) == ("pit", "Quarry", "dig", ["x"])
    assert (found.endpoint.mode, found.endpoint.url) == ("remote", "http://127.0.0.1:9")


def test_a_script_gives_its_domain_as_object_or_dictionary(tmp_path: Path) -> None:
    script = tmp_path / "domain.py"
    script.write_text(f"DOMAIN_CONFIG = {CONFIG!r}")
    assert domain_from_script(script) == DomainConfig.model_validate(CONFIG)
    lines = ["from mesocosm.environments.domain import DomainConfig", f"DOMAIN_CONFIG = DomainConfig(**{CONFIG!r})"]
    script.write_text("\n".join(lines))
    assert domain_from_script(script).id == "quarry"


def test_a_script_without_a_domain_says_so(tmp_path: Path) -> None:
    script = tmp_path / "domain.py"
    with pytest.raises(UsageError, match="there is no file"):
        domain_from_script(script)
    script.write_text("x = 1")
    with pytest.raises(UsageError, match="defines no DOMAIN_CONFIG"):
        domain_from_script(script)
    script.write_text("DOMAIN_CONFIG = {'id': 'a', 'scoring': {'metrics': [{}]}}")
    with pytest.raises(InvalidInput, match=r"scoring\.metrics\[0\]\.name"):
        domain_from_script(script)


def test_a_script_may_import_its_neighbours_and_its_failure_is_named(tmp_path: Path) -> None:
    (tmp_path / "quarry_settings.py").write_text(f"CONFIG = {CONFIG!r}")
    script = tmp_path / "domain.py"
    script.write_text("from quarry_settings import CONFIG as DOMAIN_CONFIG")
    assert domain_from_script(script).id == "quarry"
    script.write_text("raise SystemExit('no licence')")
    with pytest.raises(UsageError, match=r"domain\.py failed: SystemExit: no licence"):
        domain_from_script(script)


def test_another_id_reaches_the_vow_too() -> None:
    found = renamed(DomainConfig.model_validate(CONFIG), "pit")
    assert (found.id, found.binding_vow.id, found.binding_vow.domain_id) == ("pit", "pit-vow", "pit")
