"""`mesocosm doctor`: what it finds, what it advises, when it fails."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.cli import doctor
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome, Played


class Site(LoopbackServer):
    """A server that answers 200 at some paths and 404 elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, bytes] = {}
        self.silent = ""
        """A path at which it hangs up without a word."""

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        if request.path == self.silent:
            connection.finish()
            return
        body = self.answers.get(request.path)
        connection.send(response(404, b"{}") if body is None else response(200, body))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as server:
        yield server


@pytest.fixture
def nobody() -> str:
    """Return the URL of a port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture(autouse=True)
def nothing_runs(nobody: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MESOCOSM_ENV_URL", "MESOCOSM_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.setenv(name, nobody)


async def ask(mesocosm: "Invoke", *words: str | Path) -> "Outcome":
    return await asyncio.to_thread(mesocosm, "doctor", *words)


def manifest_in(place: Path, scaffolded: Path) -> None:
    for name in ("benchanything.json", "adapter.py", "env.py"):
        (place / name).write_bytes((scaffolded / name).read_bytes())


async def test_a_server_that_answers_is_fine(mesocosm: "Invoke", site: Site) -> None:
    site.answers = {"/health": b"{}", "/openapi.json": b"{}"}

    seen = await ask(mesocosm, "--base-url", f"{site.url}/")

    assert seen.code == 0
    document = seen.document
    assert list(document)[:5] == ["ok", "profile", "base_url", "health", "openapi"]
    assert (document["ok"], document["profile"], document["base_url"]) == (True, "remote", site.url)
    assert document["health"] == {"url": f"{site.url}/health", "status_code": 200, "error": None}
    assert document["issues"] == []


async def test_a_server_under_a_prefix_is_suggested(mesocosm: "Invoke", site: Site) -> None:
    site.answers = {"/health": b"{}"}

    seen = await ask(mesocosm, "--base-url", site.url)

    assert seen.code == 1
    assert seen.document["openapi"]["status_code"] == 404
    assert seen.document["issues"] == [
        f"{site.url}/openapi.json answered 404; the public API is below /bench: try {site.url}/bench"
    ]


async def test_a_description_that_does_not_come_is_no_wrong_address(mesocosm: "Invoke", site: Site) -> None:
    site.answers, site.silent = {"/health": b"{}"}, "/openapi.json"

    seen = await ask(mesocosm, "--base-url", site.url)

    (issue,) = seen.document["issues"]
    assert issue.startswith(f"{site.url}/openapi.json does not answer (")


async def test_a_server_that_is_not_there_is_an_issue_with_advice(mesocosm: "Invoke", nobody: str) -> None:
    seen = await ask(mesocosm)

    assert seen.code == 1
    assert seen.document["base_url"] == nobody
    assert [f"{nobody} does not answer" in issue and "start your server" in issue for issue in seen.document["issues"]]
    assert "Connection refused" in seen.document["health"]["error"]


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("nonsense", "no http or https URL"),
        ("ftp://127.0.0.1", "no http or https URL"),
        ("http://[x", "Invalid IPv6 URL"),
        ("http://two words", "control characters"),
    ],
)
async def test_an_address_that_is_none_is_told(mesocosm: "Invoke", url: str, error: str) -> None:
    seen = await ask(mesocosm, "--base-url", url)

    assert seen.code == 1
    assert error in seen.document["health"]["error"]


async def test_passwords_in_addresses_are_not_shown(mesocosm: "Invoke", nobody: str) -> None:
    seen = await ask(mesocosm, "--base-url", nobody.replace("//", "//me:canary-password@"))

    assert "canary-password" not in seen.out + seen.err
    assert seen.document["base_url"] == nobody


@pytest.mark.parametrize("words", [("--local",), ()])
async def test_this_machine_is_fine_with_an_adapter_alone(
    mesocosm: "Invoke", site: Site, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    site.answers = {"/health": b"{}"}
    monkeypatch.setenv("MESOCOSM_ENV_URL", site.url)
    if not words:
        monkeypatch.setenv("MESOCOSM_LOCAL", "yes")

    seen = await ask(mesocosm, *words)

    document = seen.document
    assert (seen.code, document["ok"], document["profile"]) == (0, True, "local")
    assert document["env_adapter"]["status_code"] == 200
    assert f"an adapter runs at {site.url}; `run local` will use it" in document["notes"][-3]
    assert "no server runs here; local runs do not need one" in document["notes"]


async def test_without_an_adapter_a_manifest_is_enough(mesocosm: "Invoke", here: Path, scaffolded: Path) -> None:
    manifest_in(here, scaffolded)

    seen = await ask(mesocosm, "--local")

    assert seen.code == 0
    assert seen.document["manifest"] == {"path": str(here / "benchanything.json"), "ok": True, "problems": []}
    assert any("`run local` starts the manifest's adapter by itself" in note for note in seen.document["notes"])


async def test_without_both_it_says_how_to_start(mesocosm: "Invoke", nobody: str) -> None:
    seen = await ask(mesocosm, "--local")

    assert seen.code == 1
    assert seen.document["issues"][0].startswith(f"no adapter runs at {nobody}")
    assert seen.document["issues"][0].endswith("python adapter.py")
    assert any("no manifest in" in note for note in seen.document["notes"])


async def test_a_manifest_with_problems_is_an_issue_each(mesocosm: "Invoke", here: Path) -> None:
    (here / "benchanything.json").write_text('{"adapter": "adapter.py", "name": ""}')

    seen = await ask(mesocosm, "--local")

    assert seen.code == 1
    assert any("binding_vow: is required, but missing" in issue for issue in seen.document["issues"])
    assert not seen.document["manifest"]["ok"]


@pytest.mark.parametrize(
    ("models", "note"),
    [(["llama3.2:latest"], ""), (["qwen3:latest"], "the default model is not installed: ollama pull llama3.2")],
)
async def test_ollama_is_asked_for_its_models(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, models: list[str], note: str
) -> None:
    async with ModelServer(models=models) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        seen = await ask(mesocosm, "--local")

    assert seen.document["ollama"]["models"] == models
    assert any(note in told for told in seen.document["notes"]) if note else "ollama pull" not in seen.out


async def test_an_ollama_that_is_not_there_is_a_note(mesocosm: "Invoke", nobody: str) -> None:
    seen = await ask(mesocosm, "--local")

    assert any(f"Ollama does not answer at {nobody}" in note for note in seen.document["notes"])
    assert seen.document["ollama"]["models"] == []


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"models": [1]}'])
async def test_what_is_no_ollama_is_called_so(
    mesocosm: "Invoke", site: Site, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    site.answers = {"/api/tags": answer}
    monkeypatch.setenv("OLLAMA_HOST", site.url)

    seen = await ask(mesocosm, "--local")

    assert f"the server at {site.url} does not speak Ollama's protocol" in seen.document["notes"]


async def test_results_that_cannot_be_written_fail_the_local_check(
    mesocosm: "Invoke", here: Path, scaffolded: Path
) -> None:
    manifest_in(here, scaffolded)

    seen = await ask(mesocosm, "--local", "--results-dir", "env.py/results")

    assert seen.code == 1
    assert any("results cannot be written to" in issue for issue in seen.document["issues"])


async def test_a_full_disk_fails_the_local_check(
    mesocosm: "Invoke", here: Path, scaffolded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest_in(here, scaffolded)
    monkeypatch.setattr("mesocosm.cli.doctor.LEAST_FREE", 2**63)

    seen = await ask(mesocosm, "--local")

    assert seen.code == 1
    assert any("results need room" in issue for issue in seen.document["issues"])


async def test_a_proxy_is_not_asked_for_this_machine(
    mesocosm: "Invoke", site: Site, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers = {"/health": b"{}", "/openapi.json": b"{}"}
    monkeypatch.setenv("http_proxy", nobody)
    monkeypatch.delenv("no_proxy", raising=False)

    seen: Any = await ask(mesocosm, "--base-url", site.url)

    assert seen.code == 0


@pytest.mark.parametrize(("through", "code"), [((), 0), (("read /etc/shadow",), 1)])
async def test_it_fails_when_an_attack_on_the_sandbox_gets_through(
    mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch, through: tuple[str, ...], code: int
) -> None:
    from mesocosm.sandboxes import attacks

    async def play() -> list[attacks.Tried]:
        return [attacks.Tried("files", "environment", through)]

    monkeypatch.setattr(attacks, "play", play)
    told = await ask(mesocosm, "--sandbox")
    assert told.code == code
    assert told.document["attacks"] == [{"attack": "files", "place": "environment", "through": list(through)}]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make standard output a terminal, and standard error none."""
    streams = SimpleNamespace(isatty=lambda: True), SimpleNamespace(isatty=lambda: False)
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(stdout=streams[0], stderr=streams[1]))
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("terminal")
def test_what_is_wrong_is_said_on_a_terminal_whose_errors_go_elsewhere(mesocosm: "Invoke") -> None:
    seen = mesocosm("doctor", "--local")

    assert (seen.code, seen.out.startswith("ok       mesocosm ")) == (1, True)
    assert "✗ " in seen.err


@pytest.mark.usefixtures("terminal")
async def test_a_terminal_gets_six_lines(
    mesocosm: "Invoke", here: Path, scaffolded: Path, played: "Played", monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest_in(here, scaffolded)
    (here / "eval.toml").write_text('data = "q.csv"\nprompt = "{question}"\n')
    monkeypatch.delenv("MESOCOSM_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    async with ModelServer(models=["llama3.2:latest", "qwen3:4b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        seen = await ask(mesocosm, *played.there)

    lines = seen.out.splitlines()
    assert (seen.code, len(lines), seen.err) == (0, 6, "")
    assert [line.split()[0] for line in lines[2:]] == ["models", "sandbox", "data", "project"]
    assert lines[0].endswith("(1 run)")
    assert lines[1].endswith(" GB free")
    assert lines[2] == "models   openai (key set, answers)   ollama: llama3.2, qwen3:4b"
    assert lines[5] == "project  eval.toml ok · benchanything.json ok"
    assert "canary-key" not in seen.out
