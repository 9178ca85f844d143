"""The settings of `--set KEY=VALUE`, by the names of the configuration."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mesocosm.core.failure import UsageError


@dataclass(frozen=True, slots=True)
class Setting:
    """What a key takes, its default in words, and its meaning. Numbers of the type `float` may be integers."""

    kind: type
    default: str
    meaning: str


SETTINGS = {
    "model.temperature": Setting(float, "what the benchmark declares, else 0", "Sampling temperature."),
    "model.max_tokens": Setting(int, "what the benchmark declares, else 4,096; of run local 512", "Tokens per reply."),
    "model.top_p": Setting(float, "–", "Share of the most likely tokens that are sampled from."),
    "model.timeout_s": Setting(float, "120", "Seconds per model call."),
    "model.reasoning_effort": Setting(str, "–", "Effort of reasoning models: low, medium, high."),
    "evaluation.seed": Setting(int, "–", "Seed of generated tasks and of samples."),
    "evaluation.timeout_s": Setting(float, "–", "Seconds per episode; of `bench run` per benchmark."),
    "limits.tokens": Setting(int, "–", "Token budget of the run."),
    "limits.usd": Setting(float, "–", "Budget of the run in US dollars, as --budget."),
    "limits.seconds": Setting(float, "–", "Time budget of the run."),
    "limits.requests_per_minute": Setting(float, "–", "Model requests per minute."),
    "limits.tokens_per_minute": Setting(float, "–", "Model tokens per minute."),
    "limits.retries": Setting(int, "4", "Retries of a model call."),
}


def read_value(text: str) -> Any:
    """Return a value as TOML reads it, or the text itself if it is no TOML."""
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if set(found) == {"value"} else text


def read_assignment(text: str, flag: str, example: str) -> tuple[str, Any]:
    """Return the name and value of `NAME=VALUE`. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{flag} {text!r} is not of the form NAME=VALUE; write for example {flag} {example}")
    return name.strip(), read_value(value.strip())


def read_parameters(texts: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of several `-P NAME=VALUE`; the last one of a name counts. Raises UsageError."""
    return dict(read_assignment(text, "-P", "split=test") for text in texts)


def read_settings(texts: Iterable[str]) -> dict[str, Any]:
    """Return the settings of several `--set KEY=VALUE`; the last one of a key counts. Raises UsageError."""
    from mesocosm.core.reading import nearest

    found: dict[str, Any] = {}
    for text in texts:
        key, value = read_assignment(text, "--set", "model.temperature=0.7")
        setting = SETTINGS.get(key)
        if setting is None:
            near = nearest(key, list(SETTINGS))
            hint = f"did you mean {near}?" if near else "mesocosm help settings lists all"
            raise UsageError(f"there is no setting {key!r}; {hint}")
        if setting.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not setting.kind:
            words = {int: "an integer", float: "a number", str: "text"}
            raise UsageError(f"--set {key}={value}: must be {words[setting.kind]}")
        found[key] = value
    return found
