"""What we read of task folders is what Harbor reads, where Harbor is installed."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.harbor.documents import BAD, GOOD

from mesocosm.benchmarks.harbor.folder import TaskFolder
from mesocosm.benchmarks.harbor.reading import read_folder
from mesocosm.core.container import NetworkPolicy
from mesocosm.core.failure import UsageError

HERE = Path(__file__).parent
GUESTS = os.environ.get("MESOCOSM_TEST_GUESTS", "")
PYTHON = Path(GUESTS) / "harbor" / "bin" / "python"
pytestmark = pytest.mark.skipif(
    not GUESTS or not PYTHON.exists(), reason="MESOCOSM_TEST_GUESTS names no folder with an environment `harbor`"
)


def with_harbor(folders: list[Path]) -> list[dict[str, Any]]:
    words = [str(PYTHON), str(HERE / "read_with_harbor.py"), *map(str, folders)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def with_us(folder: Path) -> dict[str, Any]:
    try:
        return facts(read_folder(folder))
    except UsageError as error:
        return {"refused": str(error)}


def facts(task: TaskFolder) -> dict[str, Any]:
    config, table = task.config, task.config.environment
    return {
        "instruction": [phase.instruction for phase in task.phases],
        "metadata": config.metadata,
        "agent": [config.agent.timeout_sec, config.agent.user],
        "verifier": [config.verifier.timeout_sec, config.verifier.user, config.verifier.env],
        "modes": ["shared" if phase.separate is None else "separate" for phase in task.phases],
        "environment": [
            *(table.build_timeout_sec, table.docker_image, table.os, table.cpus),
            *(table.memory_mb, table.storage_mb, table.gpus, table.env, table.workdir),
        ],
        "networks": [policy(one) for one in (table.policy, config.agent.policy, config.verifier.policy)],
        "solution": config.solution.env,
        "strategy": config.multi_step_reward_strategy,
        "steps": [[step.name, step.min_reward, step.agent.timeout_sec] for step in config.steps or ()],
        "health": None
        if table.healthcheck is None
        else {name: getattr(table.healthcheck, name) for name in table.healthcheck.__struct_fields__},
        "collect": [[one.command, one.service, one.timeout_sec] for one in config.verifier.collect],
    }


def policy(given: NetworkPolicy | None) -> list[Any] | None:
    from mesocosm.benchmarks.harbor.config import hosts

    return None if given is None else [given.mode, list(hosts(given).hosts)]


def folders(place: Path, documents: dict[str, str]) -> list[Path]:
    made = []
    for number, text in enumerate(documents.values()):
        folder = place / f"task{number}"
        for name in ("", "steps/one", "steps/two"):
            (folder / name / "tests").mkdir(parents=True)
            (folder / name / "tests" / "test.sh").write_text("#!/bin/sh\n")
            (folder / name / "instruction.md").write_text("# canary x\n\nDo it.\n")
        (folder / "environment").mkdir()
        (folder / "environment" / "Dockerfile").write_text("FROM busybox\n")
        (folder / "task.toml").write_text(text)
        made.append(folder)
    return made


def test_good_files_are_read_as_harbor_reads_them(tmp_path: Path) -> None:
    made = folders(tmp_path, GOOD)
    theirs = dict(zip(GOOD, with_harbor(made), strict=True))
    ours = dict(zip(GOOD, map(with_us, made), strict=True))
    assert {name: found for name, found in theirs.items() if "refused" in found} == {}
    assert ours == theirs


def test_what_harbor_refuses_is_refused(tmp_path: Path) -> None:
    made = folders(tmp_path, BAD)
    theirs = dict(zip(BAD, with_harbor(made), strict=True))
    ours = dict(zip(BAD, map(with_us, made), strict=True))
    assert [name for name, found in theirs.items() if "refused" not in found] == []
    assert [name for name, found in ours.items() if "refused" not in found] == []


def test_our_own_task_folders_are_read_as_harbor_reads_them() -> None:
    made = sorted(one.parent for kind in ("tasks", "odd") for one in (HERE / kind).glob("*/task.toml"))
    assert list(map(with_us, made)) == with_harbor(made)


def test_terminal_bench_is_read_as_harbor_maps_it(tmp_path: Path) -> None:
    python = Path(GUESTS) / "harbor" / "bin" / "python"
    mapping = "from harbor.mappers.terminal_bench import TerminalBenchMapper as M; import sys; from pathlib import Path"
    code = f"{mapping}; M()._map_task(Path(sys.argv[1]), Path(sys.argv[2]))"
    folder, mapped = HERE / "tasks" / "terminal-bench-1", tmp_path / "mapped"
    subprocess.run([str(python), "-c", code, str(folder), str(mapped)], check=True, capture_output=True)
    (theirs,) = with_harbor([mapped])
    ours = with_us(folder)
    assert read_folder(folder).phases[0].script == (mapped / "tests" / "test.sh").read_text()
    theirs["metadata"] = {**theirs["metadata"], "tags": tuple(theirs["metadata"]["tags"])}
    ours["metadata"] = {**ours["metadata"], "tags": tuple(ours["metadata"]["tags"])}
    assert ours == theirs
