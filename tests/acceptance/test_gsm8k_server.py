"""gsm8k on a server: an uploaded dataset, recorded answers of two models as models of the server, and the comparison.

Skipped where the published data does not lie beside the checkout.
"""

from pathlib import Path

import pytest
from tests.acceptance.test_gsm8k_rollout import CONFIG, DATA, ROLLOUTS
from tests.server.evaluations.conftest import OpenTeam, Team, cheap_passwords, open_team

from mesocosm.sandboxes.bubblewrap import available

__all__ = ["cheap_passwords", "open_team"]

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason="the published data is not beside the checkout"),
    pytest.mark.skipif(not available(), reason="there is no bubblewrap"),
]
PASSED = {"6b": 286, "175b": 458}


@pytest.fixture
def school(open_team: OpenTeam, tmp_path: Path) -> Team:
    """A team with the published problems as a dataset, and recordings as models of the server."""
    models = [
        {"name": f"openai/{name}", "served_as": f"replay/{DATA}/recorded_{name}_finetuning.jsonl"} for name in PASSED
    ]
    team = open_team(models=models)
    data = (DATA / "test.jsonl").read_bytes()
    team.add_dataset("problems", data, columns={"user_prompt": "question", "ground_truth": ["answer"]})
    files = {f"configs/eval/{name}.toml": CONFIG.format(recorded="", dataset="problems") for name in PASSED}
    files["rollouts/once/main.py"] = (ROLLOUTS / "once" / "main.py").read_text()
    team.snapshot = team.add_code(
        {name: text.replace("replay/", f"openai/{Path(name).stem}") for name, text in files.items()}, tmp_path / "once"
    )
    return team


def test_recorded_answers_get_their_published_scores_on_a_server(school: Team) -> None:
    runs = {name: school.submitted(configuration=f"configs/eval/{name}.toml", name=name)["id"] for name in PASSED}
    school.work()
    for name, passed in PASSED.items():
        done = school.run(runs[name])
        assert (done["state"], done["counts"]["done"]) == ("finished", 1319), done["error"]
        assert done["primary"]["value"] == pytest.approx(passed / 1319)
    compared = school.owner.get("/api/compare", params={"run": list(runs.values())}).json()
    (pair,) = compared["benchmarks"][0]["pairs"]
    assert pair["delta"] == pytest.approx((458 - 286) / 1319)
    assert 0 < pair["low"] < pair["delta"] < pair["high"]


def test_the_benchmark_gets_the_same_scores_from_the_same_dataset(school: Team) -> None:
    given = {"kind": "benchmark", "benchmark": "gsm8k", "workspace": school.workspace}
    given["parameters"] = {"data_path": "dataset:problems"}  # type: ignore[assignment]
    runs = {}
    for name in PASSED:
        answer = school.owner.post("/api/runs", {**given, "model": f"openai/{name}"})
        assert answer.status_code == 202, answer.text
        runs[name] = answer.json()["id"]
    school.work()
    for name, passed in PASSED.items():
        done = school.run(runs[name])
        assert done["state"] == "finished", done["error"]
        assert round(done["primary"]["value"] * 1319) == passed
