"""Inspect's own runner on the same task, for comparisons with ours."""

import math
import os
from collections.abc import Iterator
from typing import Any

from .inspect_catalogue import Fields
from .inspect_loading import Loaded
from .inspect_outcomes import first_line, values

PROVIDER = "openai-api/original"
"""The provider that users of Inspect name for any server with OpenAI's protocol."""


async def original(
    loaded: Loaded, base_url: str, key: str, model: str, limit: int | None, trials: int
) -> Iterator[Fields]:
    """Evaluate the first `limit` samples as `inspect eval` does; return them with the scores in Inspect's log."""
    from inspect_ai import eval_async
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import get_model

    asked = get_model(f"{PROVIDER}/{model}", base_url=base_url, api_key=key)
    logs = await eval_async(
        loaded.task,
        model=asked,
        model_roles=dict.fromkeys(loaded.roles, asked),
        sandbox=loaded.sandbox or None,
        limit=limit,
        epochs=trials,
        fail_on_error=False,
        log_dir=os.environ["INSPECT_LOG_DIR"],
        log_level="warning",
        ctl_server=False,
        temperature=0.0,
        max_tokens=4096,
        **loaded.limits,
    )
    log = read_eval_log(logs[0].location)
    if log.status != "success":
        raise RuntimeError(log.error.message if log.error is not None else f"the evaluation is {log.status}")
    places = {str(sample.id): place for place, sample in enumerate(loaded.samples)}
    return ({"sample": _sample(sample, places[str(sample.id)])} for sample in log.samples or ())


def _sample(sample: Any, place: int) -> Fields:
    failed = first_line(sample.error.message) if sample.error is not None else ""
    scores = [
        {"name": name, "value": _number(part)}
        for scorer, score in (sample.scores or {}).items()
        for name, part in values(scorer, score.value)
    ]
    return {"place": place, "trial": sample.epoch - 1, "scores": scores, "failed": failed}


def _number(value: Any) -> float | None:
    """Return a value as Inspect's metrics read it; NaN is no score."""
    from inspect_ai.scorer import value_to_float

    number = float(value_to_float()(value)) if value is not None else None
    return None if number is None or math.isnan(number) else number
