"""Evaluations of rollouts on our server with models behind LiteLLM's proxy: refused keys, limits, its end."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.foreign import real_servers
from tests.foreign.real_servers import KEY, RealServer
from tests.server.evaluations.conftest import CONFIG, FILES, OpenTeam, Team, cheap_passwords, open_team

from mesocosm.sandboxes.bubblewrap import available

__all__ = ["cheap_passwords", "open_team"]

pytestmark = pytest.mark.skipif(not available(), reason="there is no bubblewrap")

NO_RESULT = {"value": None, "n_scored": 0}


def played(team: Team, folder: Path, model: str, **settings: Any) -> tuple[dict[str, Any], str]:
    """Return the document of a run whose model is one of the proxy, and everything that can be read of it."""
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    config = CONFIG.replace("openai/tiny", f"openai/{model}") + lines
    team.snapshot = team.add_code({**FILES, "configs/eval/sums.toml": config}, folder)
    run = team.submitted()
    team.work()
    places = [f"/api/runs/{run['id']}{part}" for part in ("", "/export", "/results", "/output", "/log")]
    return team.run(run["id"]), "".join(team.owner.get(place).text for place in places)


def served(open_team: OpenTeam, server: RealServer, *names: str, **given: Any) -> Team:
    """Return a team on a server of ours that offers models of LiteLLM's proxy."""
    entries = [
        {"name": f"openai/{name}", "served_as": f"openai/{name}@{server.openai_url}", "key": "PROXY_KEY"}
        for name in names
    ]
    return open_team(models=entries, **given)


def test_an_evaluation_asks_the_proxy_with_the_key_of_the_catalogue(
    open_team: OpenTeam, litellm_server: RealServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROXY_KEY", KEY)
    run, seen = played(served(open_team, litellm_server, "steady"), tmp_path / "other", "steady")
    assert (run["state"], run["counts"]["completed"], run["usage"]["calls"]) == ("finished", 8, 8), run["error"]
    # It always answers 4, which is right for one row.
    assert run["primary"]["value"] == pytest.approx(1 / 8)
    assert KEY not in seen


@pytest.mark.parametrize(
    ("model", "key", "words"),
    [
        ("steady", "sk-of-somebody-else", "model_rejected"),
        ("absent", KEY, "absent"),
        ("limited", KEY, "429"),
        ("broken", KEY, "500"),
    ],
)
def test_what_the_proxy_refuses_is_never_a_score(
    open_team: OpenTeam,
    litellm_server: RealServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    model: str,
    key: str,
    words: str,
) -> None:
    monkeypatch.setenv("PROXY_KEY", key)
    team = served(open_team, litellm_server, model, outage_s=2.0)
    run, seen = played(team, tmp_path / "other", model, outage_seconds=2)
    assert run["state"] in {"stopped", "failed"}, (run["state"], run["error"])
    assert {name: run["primary"][name] for name in NO_RESULT} == NO_RESULT
    assert run["counts"]["done"] == 0
    assert words in run["error"], run["error"]
    assert key not in seen


def test_a_proxy_that_ends_in_the_middle_leaves_rows_to_run(
    open_team: OpenTeam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_KEY", KEY)
    (tmp_path / "first").mkdir()
    with real_servers.litellm(tmp_path / "first") as server:
        team = served(open_team, server, "steady", outage_s=2.0)
        ended = threading.Thread(target=_end_after_a_row, args=(team, server))
        ended.start()
        run, _ = played(team, tmp_path / "other", "steady", outage_seconds=2, batch_size=1)
        ended.join()
    assert (run["state"], run["counts"]["failed"]) == ("stopped", 0), run["error"]
    assert 0 < run["counts"]["done"] < 8
    assert run["primary"]["n_scored"] == run["counts"]["done"]
    assert "the model openai/steady@… has not answered since" in run["error"], run["error"]


def _end_after_a_row(team: Team, server: RealServer) -> None:
    """End the proxy as soon as a row is done."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        runs = team.owner.get("/api/runs", params={"whose": "workspace"}).json().get("items", [])
        if any(run["counts"]["done"] for run in runs):
            server.kill()
            return
        time.sleep(0.02)
