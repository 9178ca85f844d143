"""Translate older spellings of a configuration: keys that moved, were renamed, or have no counterpart."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mesocosm.core.failure import Problem
from mesocosm.core.reading import nearest
from mesocosm.rollouts.section import describe_value

MOVED: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "eval": {
        **{key: ("experiment", key) for key in ("rollout", "entrypoint", "dataset")},
        **{key: ("evaluation", key) for key in ("limit", "offset")},
    },
    "llm": {"model": ("experiment", "model_path"), "base_url": ("model", "base_url")},
    "runs": {key: ("evaluation", key) for key in ("n", "batch_size", "pass_threshold")},
    "timeouts": {key: ("evaluation", key) for key in ("agent_workflow_timeout_s", "grader_timeout_s")},
    "output": {},
    "baseline": {},
    "rollout": {},
}
"""The older tables: for each key with a counterpart, its current table and name."""

_BASELINE = "run the baseline as a run of its own, with --model, and `mesocosm compare` the two"
DROPPED: Mapping[str, Mapping[str, str]] = {
    "eval": {"fresh": "give --fresh on the command line", "retry_failed": "give --retry-failed on the command line"},
    "llm": {"api_key_env": "the key is taken from the provider's own variable, such as OPENAI_API_KEY"},
    "runs": {},
    "timeouts": {},
    "output": {
        "log_samples": "samples and transcripts are always kept",
        "output_path": "results are in the results directory: --results-dir",
        "quiet": "give --quiet on the command line",
        "debug": "give --debug on the command line",
    },
    "baseline": {"model": _BASELINE, "base_url": _BASELINE, "api_key_env": _BASELINE},
    "grader": {
        "module": "the grader is the one that the entry file defines, imports or gives to its backend",
        "config": "the grader's configuration is the one that the entry file defines, imports or gives to its backend",
    },
    "rollout": {},
}
"""Keys of older tables without a counterpart, each with what to do instead."""

_SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_UNTOLD = ("base_url",)


@dataclass(slots=True)
class Translation:
    """A document in the current spelling.

    `notes` map each older spelling to its new one; `origins` maps `section.key` to where its value was written.
    """

    document: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)

    def put(self, table: str, key: str, value: Any, origin: str) -> bool:
        """Set `key` of `table` and return whether it was set. If it has a value already, add a problem instead."""
        place = self.document.setdefault(table, {})
        if not isinstance(place, dict):
            return False
        if key in place:
            self.problems.append(Problem(f"{table}.{key}", f"stands in the file twice, also as {origin}", "remove one"))
            return False
        place[key] = value
        self.origins[f"{table}.{key}"] = origin
        return True


def translate(document: Mapping[str, Any]) -> Translation:
    """Return the TOML `document` in the current spelling; without older spellings its content is unchanged."""
    done = Translation(
        {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in document.items()
            if name not in MOVED
        }
    )
    for table in MOVED:
        if table in document:
            _table(done, table, document[table])
    _every_row(done, document.get("eval"))
    _grader(done)
    _secrets(done)
    return done


def _table(done: Translation, table: str, raw: object) -> None:
    if not isinstance(raw, Mapping):
        done.problems.append(Problem(table, f"must be a table, not {describe_value(raw)}", f"write it as [{table}]"))
        return
    for key, value in raw.items():
        if table == "rollout" and key in ("env", "secrets"):
            _of_rollout(done, key, value)
        elif key in MOVED[table]:
            section, name = MOVED[table][key]
            if done.put(section, name, value, f"[{table}] {key}"):
                done.notes.append(f"[{table}] {key} is an older spelling: [{section}] {_spelled(name, value)}")
        elif key in DROPPED[table]:
            done.notes.append(f"[{table}] {key} is older and does nothing here: {DROPPED[table][key]}")
        else:
            known = _known(table)
            near = nearest(key, known)
            fix = f"did you mean `{near}`?" if near else f"known: {', '.join(known)}"
            done.problems.append(Problem(f"{table}.{key}", "is not a known key", fix))


def _known(table: str) -> list[str]:
    return ["env", "secrets"] if table == "rollout" else [*MOVED[table], *DROPPED[table]]


def _of_rollout(done: Translation, key: str, raw: object) -> None:
    """Convert `[rollout.env]` or the map `[rollout.secrets]`."""
    origin = f"[rollout.{key}]"
    if not isinstance(raw, Mapping):
        done.problems.append(Problem(f"rollout.{key}", "must be a table", f"write it as [{key}]"))
        return
    if key == "env":
        for name, value in raw.items():
            done.put("env", name, value, origin)
        done.notes.append(f"{origin} is an older spelling: [env]")
    elif done.put("secrets", "required", list(raw), origin):
        done.notes.append(f"{origin} is an older spelling: [secrets] {_spelled('required', list(raw))}")


def _every_row(done: Translation, raw: object) -> None:
    """Select every row, which is what `[eval]` without a limit means."""
    evaluation = done.document.get("evaluation", {})
    if not isinstance(raw, Mapping) or not isinstance(evaluation, dict) or evaluation.keys() & {"limit", "sample"}:
        return
    if done.put("evaluation", "limit", "all", "[eval]"):
        done.notes.append('[eval] without limit took every row: [evaluation] limit = "all"')


def _grader(done: Translation) -> None:
    """Drop an older `[grader]`, which named classes to import; the current one names a ready-made grader in `use`."""
    raw = done.document.get("grader")
    if not isinstance(raw, dict) or not raw or not raw.keys() <= DROPPED["grader"].keys():
        return
    del done.document["grader"]
    done.notes += [f"[grader] {key} is older and does nothing here: {DROPPED['grader'][key]}" for key in raw]


def _secrets(done: Translation) -> None:
    """Convert the map of names to stored records into the list of names."""
    raw = done.document.get("secrets")
    if not isinstance(raw, dict) or not raw or "required" in raw:
        return
    if all(_SECRET_NAME.fullmatch(name) and isinstance(value, str) for name, value in raw.items()):
        names = list(raw)
        done.document["secrets"] = {"required": names}
        done.origins["secrets.required"] = "the names in [secrets]"
        done.notes.append(
            f"[secrets] NAME = … is an older spelling: [secrets] {_spelled('required', names)}; what stood beside the "
            "names is not used"
        )


def _spelled(key: str, value: object) -> str:
    """Return `key = value` as TOML, without the value of an address, which may contain a password."""
    if key in _UNTOLD or not isinstance(value, (str, int, float, list)):
        return f"{key} = …"
    return f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}"
