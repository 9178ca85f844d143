"""A run that the program `osmosis` has run on one's own machine: its folder, as 0.3.7 and 0.3.8 leave it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Attempt:
    """One attempt at a row. Without `said` it left no trajectory."""

    row: int
    run: int
    reward: float | None = 1.0
    status: str = "success"
    said: str | None = "4"
    tokens: int = 17
    error: str | None = None
    left: dict[str, bytes] = field(default_factory=dict)

    @property
    def rollout(self) -> str:
        """The id of its rollout, another one for another result."""
        told = repr((self.row, self.run, self.reward, self.status))
        return hashlib.md5(told.encode(), usedforsecurity=False).hexdigest()

    def line(self) -> dict[str, Any]:
        """Return its line of index.jsonl."""
        found = {
            "row_index": self.row,
            "run_index": self.run,
            "rollout_id": self.rollout,
            "trajectory_filename": None if self.said is None else "trajectory.json",
            "status": self.status,
            "reward": self.reward,
            "tokens": self.tokens,
            "duration_ms": 70.5,
            "error_type": self.error,
        }
        return {name: value for name, value in found.items() if value is not None}

    def trajectory(self) -> dict[str, Any]:
        """Return its trajectory: a question, a call of a tool, an answer."""
        call = {"tool_call_id": "call_0", "function_name": "add", "arguments": {"a": 2}}
        steps: list[dict[str, Any]] = [
            {"source": "user", "message": "2 + 2?"},
            {
                "source": "agent",
                "message": "",
                "tool_calls": [call],
                "observation": {"results": [{"source_call_id": "call_0", "content": "four"}]},
                "metrics": {"prompt_tokens": 5, "completion_tokens": 2},
            },
            {"source": "agent", "message": self.said, "reasoning_content": "easy"},
        ]
        identity = {"row_index": self.row, "run_index": self.run}
        extra: dict[str, Any] = {
            "rollout_id": self.rollout,
            "label": "4",
            "reward": self.reward,
            "request_extra_fields": identity,
        }
        extra["sample_metrics"] = {"turns": 2}
        return {
            "schema_version": "ATIF-v1.7",
            "session_id": self.rollout,
            "trajectory_id": self.rollout,
            "agent": {"name": "osmosis-rollout-sdk", "version": "0.3.7"},
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
            "final_metrics": {"total_steps": len(steps)},
            "extra": {"osmosis": extra},
        }


ATTEMPTS = (
    Attempt(0, 0),
    Attempt(0, 1, 0.0, said="5"),
    Attempt(1, 0, None, "failed", error="KeyError: no tool"),
    Attempt(1, 1, None, "failed", None, 0, error="lease_expired"),
    Attempt(2, 0, None, "skipped"),
    Attempt(2, 1, left={"notes/a.txt": b"noted", "empty": b""}),
)
"""Three rows twice: graded twice, failed by the workflow and by the machine, left out, graded with files."""


@dataclass(frozen=True)
class LocalRunFolder:
    """The folder of a run of three rows twice."""

    root: Path
    name: str = "first"
    attempts: Sequence[Attempt] = ATTEMPTS
    run_id: str = "fa" * 16

    def write(self) -> Path:
        """Write it, in place of what is there."""
        place = self.root / self.name
        inputs: dict[str, Any] = {
            "model_path": "openai/gpt-4o-mini",
            "dataset": {"sha256": "5" * 64, "selected_source_rows": "4-5,9"},
            "n": 2,
            "rollout": {"name": "demo", "entrypoint": "main.py", "source_digest": "e" * 64},
            "env": {},
            "secret_names": [],
            "timeouts": {"agent_timeout_sec": None, "grader_timeout_sec": None},
            "versions": {"rollout_protocol": "0.4", "dataset_normalization": 1, "state_schema": 1},
        }
        provenance: dict[str, Any] = {
            "sdk_version": "0.3.7",
            "config_path": "configs/eval/a.toml",
            "git_head": "c" * 40,
        }
        provenance |= {"git_branch": "main", "git_dirty": False}
        manifest = {"schema_version": 1, "local_run_id": self.run_id, "run_name": self.name, "inputs": inputs}
        self._json(place / "manifest.json", {**manifest, "provenance": provenance})
        self._json(place / "progress.json", {"total_runs": 6, "sampled_rows": 3, "total_dataset_rows": 10})
        lines = [json.dumps(one.line()) + "\n" for one in self.attempts]
        (place / "index.jsonl").write_text("".join(lines))
        times = {"started_at": "2026-11-23T22:38:04.048255Z", "completed_at": "2026-11-23T22:38:15.914446Z"}
        names = {"dataset_name": "sums", "model_name": "openai/gpt-4o-mini", "rollout_name": "demo"}
        run = {"id": self.run_id, "status": "finished", "name": self.name, **names, **times}
        self._json(place / "metrics.json", {"eval_run": run, "summary": {"pass_threshold": 0.5}})
        (place / "logs.txt").write_text("it ran\n")
        for one in self.attempts:
            trial = place / "rollout_trials" / one.rollout
            if one.said is not None:
                self._json(trial / "trajectory.json", one.trajectory())
            for name, data in one.left.items():
                file = trial / "artifacts" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        return place

    def _json(self, file: Path, document: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, indent=2) + "\n")

    def files(self) -> dict[str, bytes]:
        """Return what is uploaded of it, by path."""
        place = self.root / self.name
        found = {name: (place / name).read_bytes() for name in ("index.jsonl", "progress.json", "logs.txt")}
        for file in (place / "rollout_trials").rglob("*"):
            if file.is_file():
                found[file.relative_to(place).as_posix()] = file.read_bytes()
        return dict(sorted(found.items()))

    def request(self, *, reimport: bool = False) -> dict[str, Any]:
        """Return what the program says about it."""
        place = self.root / self.name
        manifest = json.loads((place / "manifest.json").read_text())
        run = json.loads((place / "metrics.json").read_text())["eval_run"]
        inputs = manifest["inputs"]
        rollout = {name: inputs["rollout"][name] for name in ("name", "source_digest")}
        experiment = {
            "rollout": rollout,
            "entrypoint": inputs["rollout"]["entrypoint"],
            "model_path": inputs["model_path"],
            "dataset": {"name": run["dataset_name"], **inputs["dataset"]},
        }
        return {
            "schema_version": 1,
            "local_run_id": self.run_id,
            "manifest_digest": hashlib.sha256((place / "manifest.json").read_bytes()).hexdigest(),
            "run": {
                **{name: run[name] for name in ("name", "started_at", "completed_at")},
                "experiment_config": experiment,
                "evaluation_config": {"n": 2, "pass_threshold": 0.5},
            },
            "schema_versions": inputs["versions"],
            "provenance": manifest["provenance"],
            "files": [
                {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                for path, data in self.files().items()
            ],
            "reimport": reimport,
        }
