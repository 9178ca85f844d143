"""Find valid but implausible declarations: schemas that no value satisfies, thresholds that no value reaches."""

from collections.abc import Iterator, Mapping
from typing import Any

from mesocosm.agents.technique import equip
from mesocosm.core.failure import Problem
from mesocosm.core.json_schema import spelled
from mesocosm.core.reading import join
from mesocosm.core.schema_rules import schema_problems
from mesocosm.core.scoring import ScoringConfig, read_scoring
from mesocosm.core.space import CompositeSpace, Space
from mesocosm.core.vow import BindingVow, RewardSpec, read_vow

VOW = "binding_vow"
_SPACES = ("observation_space", "action_space")


def contract_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield problems that make the results of an environment meaningless, and unknown techniques.

    `raw` is a manifest or a register body. Parts that are malformed are skipped; `read_vow` and `read_scoring` report
    them.
    """
    vow = _vow(raw.get(VOW))
    if vow is None:
        return
    for name in _SPACES:
        yield from _space_problems(getattr(vow, name), join(VOW, name))
    yield from _technique_problems(vow)
    scoring = read_scoring(raw["scoring"])[0] if raw.get("scoring") is not None else None
    if scoring is not None:
        yield from _threshold_problems(scoring, vow.reward)


def _vow(raw: object) -> BindingVow | None:
    return read_vow(raw)[0] if isinstance(raw, Mapping) else None


def _space_problems(space: Space, path: str) -> Iterator[Problem]:
    if isinstance(space, CompositeSpace):
        for name, field in space.fields.items():
            yield from _space_problems(field, join(join(path, "fields"), name))
    elif space.json_schema is not None:
        yield from schema_problems(space.json_schema, join(path, "schema"))


def _technique_problems(vow: BindingVow) -> Iterator[Problem]:
    for index, technique in enumerate(vow.techniques):
        found: list[str] = []
        equip({"techniques": [technique.model_dump(mode="json")]}, {}, found.append)
        for message in found:
            fix = "`mesocosm plugins` lists the techniques that are known here"
            yield Problem(join(join(VOW, "techniques"), index), message, fix, "warning")


def _threshold_problems(scoring: ScoringConfig, reward: RewardSpec) -> Iterator[Problem]:
    for index, metric in enumerate(scoring.metrics):
        if metric.type != "episode_reward" or metric.aggregation != "pass_rate":
            continue
        path = join(join(join("scoring", "metrics"), index), "pass_threshold")
        threshold = metric.pass_threshold
        if reward.high is not None and threshold >= reward.high:
            message = (
                f"no episode passes: the reward must be above {spelled(threshold)}, and the declared range ends at "
                f"{spelled(reward.high)}"
            )
            yield Problem(path, message, "lower the threshold, or widen `reward.range`")
        elif reward.low is not None and threshold < reward.low:
            message = (
                f"every episode passes: the declared range of the reward begins at {spelled(reward.low)}, above "
                f"{spelled(threshold)}"
            )
            yield Problem(path, message, "raise the threshold, or widen `reward.range`")
