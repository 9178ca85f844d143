"""Tasks of lm-evaluation-harness on local files, a model for them, and what the harness makes of the same answers."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mesocosm as mc
from mesocosm.core.episode import Episode
from mesocosm.store import open_store

HERE = Path(__file__).parent
TASKS = HERE / "recordings" / "lm-eval" / "tasks"
VARIABLE = "MESOCOSM_TEST_GUESTS"
CHATS = ("lm_generate", "lm_translation", "lm_vote", "lm_custom")
TEXTS = ("lm_questions", "lm_judgement", "lm_ending", "lm_rolling")
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
_SUM = re.compile(r"(\d+) ([-+*/]) (\d+)")


def python() -> str:
    """Return the interpreter that has lm-evaluation-harness."""
    return str(Path(os.environ[VARIABLE]) / "lmeval" / "bin" / "python")


def installed() -> bool:
    """Return whether there is one."""
    return bool(os.environ.get(VARIABLE)) and Path(python()).exists()


def say(body: Mapping[str, Any]) -> str:
    """Answer as a model of some skill: it is right at most sums, in several forms, and translates badly."""
    asked = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    if "German:" in asked:
        words = {"Guten Morgen": "Good morning to us", "Das Haus": "The house is old", "Wir gehen": "We are going home"}
        return next(english for german, english in words.items() if german in asked.rpartition("German:")[2])
    found = _SUM.findall(asked)
    if not found:
        return "I do not know"
    a, how, b = found[-1]
    value = {"+": int(a) + int(b), "-": int(a) - int(b), "*": int(a) * int(b), "/": int(a) // int(b)}[how]
    if how == "*":
        return f"That is #### {value + 1}"
    return f"So it is {value}.\n#### {value}" if value % 2 else f"{value}"


def folder(place: Path) -> Path:
    """Return a copy of the tasks, in which their data is found by its name."""
    shutil.copytree(TASKS, place, dirs_exist_ok=True)
    return place


def play(source: str, model: str, **params: Any) -> mc.Run:
    """Return the run of tasks in the current directory."""
    given = {"python": python(), "include_path": ".", **params}
    return mc.evaluate(source, model=model, params=given, progress=False, parallel=8)


def episodes(run: mc.Run) -> dict[str, Episode]:
    """Return the stored episodes by the ids of their tasks."""
    store = open_store(Path(run.place).parent)
    try:
        return {one.task_id: one for one in store.episodes.list(run.id, limit=500).items}
    finally:
        store.close()


def original(place: Path, names: tuple[str, ...], answers: Mapping[str, Any], **given: Any) -> Any:
    """Return what the harness makes of recorded answers."""
    recorded = place / "recorded.json"
    recorded.write_text(json.dumps({"answers": answers, **given}))
    done = subprocess.run(
        [python(), str(HERE / "lm_eval_original.py"), ".", str(recorded), *names],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "TQDM_DISABLE": "1", **OFFLINE},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def answers_of(found: Mapping[str, Episode]) -> dict[str, dict[str, Any]]:
    """Return the answers of a run: by task and document, for each request and repeat."""
    answers: dict[str, dict[str, Any]] = {}
    for one in found.values():
        info = one.terminal_info
        answers.setdefault(info["task"], {})[str(info["doc_id"])] = info["responses"]
    return answers
