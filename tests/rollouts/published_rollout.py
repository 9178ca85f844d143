"""Rollouts as people have them (the folders below `published`), put into a workspace and run by the command line.

Beside the files of the rollout each folder has `rows.jsonl`, its dataset; `expected.json`, what has to come out of each
row; and, where the plain configuration does not do, `eval.toml`.
"""

import json
import math
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PUBLISHED = Path(__file__).with_name("published")
OURS = ("rows.jsonl", "expected.json", "eval.toml")
FRAMEWORKS = {"concierge": "agents", "reception": "strands", "graph": "langgraph"}
"""Rollouts that need a framework which this project does not depend on, and the framework's module."""
_ROW = '{"user_prompt": "[[say 4]]", "ground_truth": "4"}'

_CONFIG = """
[experiment]
rollout = "{name}"
entrypoint = "main.py"
model_path = "openai/puppet"
dataset = "{name}"

[evaluation]
limit = "all"
batch_size = 4
agent_workflow_timeout_s = 60
grader_timeout_s = 60
"""


def names() -> list[str]:
    """Return the names of all of them that have rows."""
    return sorted(folder.name for folder in PUBLISHED.iterdir() if (folder / "rows.jsonl").is_file())


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one row."""

    reward: float | None
    metrics: dict[str, float]
    cause: str = ""


@dataclass(frozen=True)
class Workspace:
    """A workspace with one published rollout."""

    root: Path
    name: str

    @classmethod
    def of(cls, root: Path, name: str, *, dependencies: list[str] | None = None, python: str = "") -> "Workspace":
        """Copy a rollout into a workspace at `root`.

        The source stays as it is; `dependencies` and `python` replace what its pyproject.toml asks for.
        """
        source = PUBLISHED / name
        made = cls(root, name)
        shutil.copytree(source, made.folder, ignore=shutil.ignore_patterns(*OURS, "__pycache__"))
        for folder in ("configs/eval", "data"):
            (root / folder).mkdir(parents=True)
        rows = source / "rows.jsonl"
        (root / "data" / f"{name}.jsonl").write_text(rows.read_text() if rows.is_file() else _ROW)
        config = source / "eval.toml"
        made.config.write_text(config.read_text() if config.is_file() else _CONFIG.format(name=name))
        if dependencies is not None or python:
            project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
            wanted = project["dependencies"] if dependencies is None else dependencies
            lines = [f'name = "{name}"', f"requires-python = {json.dumps(python or project['requires-python'])}"]
            made.pyproject.write_text("\n".join(["[project]", *lines, f"dependencies = {json.dumps(wanted)}", ""]))
        return made

    @property
    def folder(self) -> Path:
        """The rollout."""
        return self.root / "rollouts" / self.name

    @property
    def pyproject(self) -> Path:
        """What it declares."""
        return self.folder / "pyproject.toml"

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.root / "configs" / "eval" / f"{self.name}.toml"

    def words(self, model_url: str) -> list[str]:
        """Return the command line that runs it with a model at `model_url`."""
        words = ["eval", "run-local", str(self.config), "--quiet", "--no-view", "--name", self.name, "--json"]
        words += ["--results-dir", str(self.root / "results"), "-o", str(self.root / "out")]
        for key in _addresses(self.config, model_url):
            words += ["--set", key]
        return words

    def rows(self) -> list[Row]:
        """Return what came of the first trial of each row."""
        lines = (self.root / "out" / "samples.jsonl").read_text().splitlines()
        found = [one for one in map(json.loads, lines) if one["trial"] == 0]
        return [_row(one) for one in sorted(found, key=lambda one: int(one["row_index"]))]


def expected(name: str) -> list[Row]:
    """Return what has to come of each row."""
    return [Row(**row) for row in json.loads((PUBLISHED / name / "expected.json").read_text())]


def differences(found: list[Row], wanted: list[Row]) -> list[str]:
    """Return how rows differ from those wanted."""
    told = [] if len(found) == len(wanted) else [f"{len(found)} rows in place of {len(wanted)}"]
    told += [
        f"row {n}: {one} in place of {other}"
        for n, (one, other) in enumerate(zip(found, wanted, strict=False))
        if not _same(one, other)
    ]
    return told


def _same(one: Row, other: Row) -> bool:
    if one.reward is None or other.reward is None:
        return one.reward == other.reward and one.cause == other.cause
    close = math.isclose(one.reward, other.reward) and one.metrics.keys() >= other.metrics.keys()
    return close and all(math.isclose(one.metrics[name], value) for name, value in other.metrics.items())


def _row(one: dict[str, Any]) -> Row:
    scores = {name.removeprefix("score."): value for name, value in one.items() if name.startswith("score.")}
    reward = scores.pop("reward", None)
    cause = one["cause"]
    if not cause and reward is None:
        cause = one["status"]
    return Row(reward, {name: value for name, value in scores.items() if value is not None}, cause)


def _addresses(config: Path, model_url: str) -> list[str]:
    """Return what a configuration must be told so that it asks no model but the one at `model_url`."""
    raw = tomllib.loads(config.read_text())
    told = [f"model.base_url={model_url}"] if "builtin/" not in config.read_text() else []
    return told + [f"env.{name}={model_url}" for name in raw.get("env", {}) if name.endswith("_URL")]
