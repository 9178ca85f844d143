"""The sample of a rollout: the workflow's messages, and the grader's results."""

import copy
import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

log: logging.Logger = logging.getLogger(__name__)

DEEPEST = 140
"""Maximum depth of values in a sample. Readers of reports reject more than 150 levels."""

MessageDict: TypeAlias = dict[str, Any]
"""One chat message, as JSON."""

Messages: TypeAlias = list[MessageDict]
"""A conversation."""


class RolloutSample(BaseModel):
    """One sample: messages, the row's label, reward and further numbers.

    `trajectory_messages` are the messages for the trajectory: by default a copy of `messages`; an explicit None stores
    none. `remove_sample` excludes the sample from every count. `id` is the name of its source if a rollout has several.
    Numbers must be finite: otherwise pydantic raises ValidationError, on construction and on assignment.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(allow_inf_nan=False, validate_assignment=True)

    id: str | None = None
    messages: Sequence[Mapping[str, Any]] = Field(default_factory=list)
    trajectory_messages: Sequence[Mapping[str, Any]] | None = None
    label: str | None = None
    reward: float | None = None
    remove_sample: bool = False
    metrics: dict[str, Any] = Field(default_factory=dict)
    extra_fields: dict[str, Any] = Field(default_factory=dict)

    def model_post_init(self, _context: Any) -> None:
        """Copy the messages for the trajectory, unless the caller set `trajectory_messages`."""
        if "trajectory_messages" not in self.model_fields_set:
            self.__dict__["trajectory_messages"] = copied(self.messages)

    def json_safe_copy(self) -> Self:
        """Return a copy whose metrics and extra fields can be written as strict JSON.

        Numbers of other libraries become int or float, keys become text; values that JSON cannot represent (NaN,
        objects) are removed with one warning.
        """
        dropped: set[str] = set()
        update = {"metrics": _safe(self.metrics, dropped), "extra_fields": _safe(self.extra_fields, dropped)}
        if dropped:
            log.warning(
                "left out of the sample's metrics and extra fields, for JSON cannot hold it: %s", _list(dropped)
            )
        return self.model_copy(update=update)


def copied(value: Any) -> Any:
    """Return a deep copy; for plain JSON it is several times faster than copy.deepcopy."""
    kind = type(value)
    if kind is dict:
        return {key: copied(item) for key, item in value.items()}
    if kind is list:
        return [copied(item) for item in value]
    if kind in (str, int, float, bool, type(None)):
        return value
    return copy.deepcopy(value)


class _Dropped(Exception):
    """A value cannot be represented in JSON."""


def _safe(value: Any, dropped: set[str], depth: int = 0) -> Any:
    """Return `value` as JSON; remove items of containers that JSON cannot represent. Raises _Dropped."""
    if depth > DEEPEST:
        raise _Dropped("values nested too deeply")
    if isinstance(value, Mapping):
        return dict(_kept(((_text(key), item) for key, item in value.items()), dropped, depth + 1))
    if isinstance(value, (list, tuple)):
        return [item for _, item in _kept((("", item) for item in value), dropped, depth + 1)]
    return _scalar(value)


def _kept(items: Any, dropped: set[str], depth: int) -> list[tuple[str, Any]]:
    kept = []
    for key, item in items:
        try:
            kept.append((key, _safe(item, dropped, depth)))
        except _Dropped as reason:
            dropped.add(str(reason))
    return kept


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, int):
        return int(value)
    if not isinstance(value, float):
        value = _foreign(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _Dropped("numbers that are not finite")
    return value


def _foreign(value: Any) -> Any:
    """Return a number of another library (numpy, torch, Decimal) as int or float. Raises _Dropped."""
    name = f"{type(value).__name__} objects"
    if isinstance(value, (bytes, bytearray, set, frozenset)):
        raise _Dropped(name)
    try:
        return value.__index__() if hasattr(value, "__index__") else float(value)
    except Exception as error:
        raise _Dropped(name) from error


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))


def plain(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON: pydantic models and dataclasses become objects, other unknown values become text.

    Values nested deeper than `DEEPEST`, for example values that contain themselves, are cut off there.
    """
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth > DEEPEST:
        return f"[nested too deeply: {type(value).__name__}]"
    if isinstance(value, Mapping):
        return {_text(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json", exclude_unset=True, fallback=_text), depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name, None), depth + 1) for field in dataclasses.fields(value)}
    return _text(value)


def encodable(text: str) -> str:
    """Return a text that UTF-8 can encode: lone surrogates become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _text(value: Any) -> str:
    """Return any value as text."""
    try:
        return encodable(value if isinstance(value, str) else str(value))
    except Exception as error:  # noqa: BLE001 - __str__ of users' objects may raise anything
        return f"[{type(value).__name__}, which cannot be shown: its __str__ raised {type(error).__name__}]"
