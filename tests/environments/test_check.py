"""`mesocosm check` on environments that keep their word, and on ones that do not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.environments.check import FILE, CheckReport, CheckResult, check, read_verdict, write
from mesocosm.environments.manifest import content_digest, load_manifest

Repository = Callable[..., Path]

ADAPTER = """
import argparse, os, random
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.environments.server import serve

SHARED = []

class Walk(BaseEnv):
    def reset(self, seed=None, **params):
        self.dice = random.Random({dice})
        self.left = 3
        SHARED.clear()
        return {{"at": self.dice.random()}}

    def step(self, action):
        self.left -= 1
        SHARED.append(action)
        at = {at}
        return StepResult({{"at": at}}, {reward}, self.left == 0, False, info={info})

    def close(self):
        {close}

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
serve(Walk, host="127.0.0.1", port=parser.parse_args().port)
"""
SOUND = {"dice": "seed", "at": "self.dice.random()", "reward": "1.0", "info": '{"won": 1}', "close": "pass"}


async def checked(repository: Repository, **changes: str) -> tuple[CheckResult, Path]:
    directory = repository(ADAPTER.format(**{**SOUND, **changes}))
    return await check(directory / "benchanything.json", lambda _: None, seeds=2, parallel=4), directory


def wrong(verdict: CheckResult) -> list[str]:
    return [finding.name for finding in verdict.findings if finding.ok is False]


async def test_an_environment_that_keeps_its_word_passes(repository: Repository) -> None:
    verdict, directory = await checked(repository)
    assert (verdict.ok, verdict.deterministic, verdict.isolated, verdict.floor) == (True, True, True, 1.0)
    assert verdict.words == f"checked on {verdict.seeds} seeds: deterministic, 4 at once, random 1, no oracle"
    manifest = directory / "benchanything.json"
    write(verdict, manifest)
    digest = content_digest(load_manifest(manifest))
    assert read_verdict(manifest, digest) == CheckReport("passed", f"{verdict.words} (by its author)")
    assert json.loads((directory / FILE).read_text())["digest"] == digest


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"at": "len(SHARED)"}, ["isolation"]),
        ({"close": "raise RuntimeError('no')"}, ["close"]),
        ({"close": "SHARED.append(0)", "at": "len(SHARED)"}, ["isolation"]),
        ({"info": "{}"}, ["scoring"]),
        ({"at": "self.dice.random() / (self.left - 1)"}, ["episodes"]),
    ],
)
async def test_what_is_wrong_is_named(repository: Repository, changes: Any, names: list[str]) -> None:
    verdict, _ = await checked(repository, **changes)
    assert names == wrong(verdict)
    assert not verdict.ok


async def test_a_server_that_ends_with_an_episode_is_named(repository: Repository) -> None:
    verdict, _ = await checked(repository, close="os._exit(3)")
    # Whether it takes others along depends on how far they are.
    assert set(wrong(verdict)) - {"episodes", "isolation"} == {"close"}


async def test_an_environment_without_seeds_is_told_apart(repository: Repository) -> None:
    verdict, _ = await checked(repository, dice="None")
    assert (verdict.deterministic, verdict.isolated) == (False, None)
    assert "not deterministic" in verdict.words


def test_a_verdict_about_other_content_does_not_count(tmp_path: Path) -> None:
    manifest = tmp_path / "benchanything.json"
    assert read_verdict(manifest, "1").state == "unchecked"
    (tmp_path / FILE).write_text('{"digest": "2", "words": "checked"}')
    assert read_verdict(manifest, "1").state == "outdated"


@pytest.mark.parametrize("text", ["[", "[" * 3_000, "null", '{"digest": "1", "words": "checked: fine", "ok": true}'])
def test_what_is_no_verdict_is_read_as_unchecked(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert read_verdict(tmp_path / "benchanything.json", "1").state == "unchecked"


def test_findings_count_and_not_what_a_verdict_says_of_itself(tmp_path: Path) -> None:
    findings = [{"name": "isolation", "ok": False, "message": "seed-1 plays\u202e differently\nbeside others"}]
    document = {"digest": "1", "words": "checked: deterministic", "ok": True, "findings": findings}
    (tmp_path / FILE).write_text(json.dumps(document))
    report = read_verdict(tmp_path / "benchanything.json", "1")
    assert report.state == "failed"
    assert report.problems == ("isolation: seed-1 plays differently beside others",)
