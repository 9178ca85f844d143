"""Read task folders with Harbor's own model. Runs in an interpreter that has it: FOLDER… → one JSON object each."""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_step_verifier_mode, resolve_task_verifier_mode


def facts(folder: Path) -> dict[str, Any]:
    """Return what a run needs of a task."""
    task = Task(folder)
    config = task.config
    found = config.model_dump(mode="json")
    steps = config.steps or []
    return {
        "instruction": [task.step_instruction(step.name) for step in steps] or [task.instruction],
        "metadata": found["metadata"],
        "agent": [config.agent.timeout_sec, config.agent.user],
        "verifier": [config.verifier.timeout_sec, config.verifier.user, config.verifier.env],
        "modes": [resolve_step_verifier_mode(config, step).value for step in steps]
        or [resolve_task_verifier_mode(config).value],
        "environment": [
            found["environment"][name]
            for name in (
                *("build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "storage_mb", "gpus", "env"),
                "workdir",
            )
        ],
        "networks": [policy(config.environment.resolve_baseline())]
        + [
            None if one is None else policy(one)
            for one in (config.agent.explicit_phase_policy(), config.verifier.explicit_phase_policy())
        ],
        "solution": config.solution.env,
        "strategy": found["multi_step_reward_strategy"],
        "steps": [[step.name, step.min_reward, step.agent.timeout_sec] for step in steps],
        "health": found["environment"]["healthcheck"],
        "collect": [[one.command, one.service, one.timeout_sec] for one in config.verifier.collect],
    }


def policy(given: Any) -> list[Any]:
    """Return a policy as text and hosts."""
    return [given.network_mode.value, given.allowed_hosts]


for name in sys.argv[1:]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            print(json.dumps(facts(Path(name))))
        except Exception as error:  # noqa: BLE001 -- whatever Harbor refuses with
            print(json.dumps({"refused": f"{type(error).__name__}: {error}"[:200]}))
