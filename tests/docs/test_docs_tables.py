"""Tables written by hand name what the code has, with its defaults."""

import dataclasses
import re
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from mesocosm.agents.memory import MemoryParams
from mesocosm.agents.multi_agent import MultiAgentParams
from mesocosm.agents.options import LoopOptions
from mesocosm.agents.tool_calling import ToolCallingParams
from mesocosm.benchmarks import placeholders
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.descriptor import CommandPart, ItemPart, Requirement
from mesocosm.benchmarks.parameter import Parameter
from mesocosm.compat.swecc.documents import RunStatus as HostedStatus
from mesocosm.core import words
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Boundary, Cause
from mesocosm.core.group import OutcomeStatus
from mesocosm.core.run import RunStatus
from mesocosm.core.scoring import MetricDef, ScoringConfig
from mesocosm.core.space import SpaceType
from mesocosm.core.vow import BindingVow, EpisodeSemantics, RewardSpec, TechniqueDeclaration
from mesocosm.engine.comparison.gate import KINDS
from mesocosm.engine.metrics import AGENT_FAILURE, NOT_RUN
from mesocosm.environments.manifest import REQUIRED
from mesocosm.environments.sdk import BaseEnv
from mesocosm.models.builtin import NAMES
from mesocosm.server.schemas.environment import CheckState
from mesocosm.server.schemas.episode import EpisodeState
from mesocosm.server.schemas.run import State
from mesocosm.stats.interval import Method
from mesocosm.store.environments import BuildState
from mesocosm.store.views import VIEWS

DOCS = Path(__file__).parents[2] / "docs"


def table(page: str, heading: str) -> dict[str, list[str]]:
    """The cells of the first table behind a heading, by the word in the first cell."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None, f"{page} has no section {heading!r}"
    lines = [line for line in section[1].splitlines() if line.startswith("| `")]
    rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
    return {word: row[1:] for row in rows for word in re.findall(r"`([^`]+)`", row[0])}


def spelled(default: Any) -> str:
    """A default as the tables write it."""
    if default is None:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, int | float):
        return f"{default:g}" if isinstance(default, float) else str(default)
    return str(default) if isinstance(default, str) and default else "empty"


def defaults(model: type[BaseModel]) -> dict[str, str]:
    return {
        name: "required" if field.is_required() else spelled(field.get_default(call_default_factory=True))
        for name, field in model.model_fields.items()
    }


@pytest.mark.parametrize(
    ("page", "heading", "model"),
    [
        ("environments.md", "Reward", RewardSpec),
        ("environments.md", "Episode", EpisodeSemantics),
        ("environments.md", "Techniques", TechniqueDeclaration),
        ("environments.md", "Scoring", ScoringConfig),
        ("environments.md", "Metric", MetricDef),
        ("agents.md", "memory", MemoryParams),
        ("agents.md", "tool_calling", ToolCallingParams),
        ("agents.md", "multi_agent", MultiAgentParams),
    ],
)
def test_a_table_of_keys_has_all_of_them_with_their_defaults(page: str, heading: str, model: type[BaseModel]) -> None:
    written = {key: cells[-1 if page == "environments.md" else 0] for key, cells in table(page, heading).items()}
    assert {key: default.strip("`") for key, default in written.items()} == defaults(model)


def test_the_keys_of_the_binding_vow_are_all_there() -> None:
    derived = {"id", "domain_id"}
    written = {key: cells[-1] for key, cells in table("environments.md", "Binding vow").items()}
    expected = defaults(BindingVow)
    assert written.keys() == expected.keys()
    assert {key: written[key] for key in written.keys() - derived} == {
        key: expected[key] for key in expected.keys() - derived
    }


def test_the_manifest_names_what_is_required() -> None:
    written = table("environments.md", "A complete manifest")
    assert {key for key, cells in written.items() if cells[-1] == "required"} == set(REQUIRED)


def test_the_options_of_the_step_loop_are_all_there() -> None:
    written = {key: cells[1].strip("`") for key, cells in table("agents.md", "History").items()}
    # Classes that are named by where they are belong to `techniques`.
    fields = [field for field in dataclasses.fields(LoopOptions) if field.name != "classes"]
    made = LoopOptions()
    assert written == {field.name: spelled(getattr(made, field.name)) for field in fields}


def test_the_failure_table_is_that_of_the_code() -> None:
    written = table("results.md", "Failures")
    assert written.keys() == {str(cause) for cause in RULES}
    for cause, rule in RULES.items():
        _, retried, counts, further = (cell.strip(" |") for cell in written[str(cause)])
        assert (retried == "yes") == rule.retried, cause
        assert (counts == "worst value") == rule.valid, cause
        nothing = rule.fatal or rule.pending or cause is Cause.SKIPPED
        assert (counts == "missing") == (not rule.valid and not nothing), cause
        assert (further == "the run ends") == rule.fatal, cause
        assert (further == "the episode stays pending") == rule.pending, cause


@pytest.mark.parametrize("statuses", [RunStatus, EpisodeStatus])
def test_every_status_is_explained(statuses: type[StrEnum]) -> None:
    assert set(statuses) <= table("results.md", "Statuses").keys()


def test_every_space_is_explained() -> None:
    assert set(SpaceType) - {SpaceType.COMPOSITE} <= table("environments.md", "Spaces").keys()


def test_every_built_in_model_is_explained() -> None:
    assert table("models.md", "Built-in models").keys() == {f"builtin/{name}" for name in NAMES}


def test_every_method_of_an_environment_is_explained() -> None:
    written = {key.partition("(")[0] for key in table("environments.md", "An environment in Python")}
    assert written == {name for name in vars(BaseEnv) if not name.startswith("_")}


def named(page: str) -> set[str]:
    """The words that a page shows as code, outside of fences."""
    text = re.sub(r"^```.*?^```$", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


def test_everything_that_describes_a_program_is_explained() -> None:
    fields = {*CommandPart.model_fields, *ItemPart.model_fields, *Requirement.model_fields, *placeholders.RUN}
    assert fields - {"argv", "item", "tags"} <= named("benchmark-authors.md")
    assert set(get_args(Requirement.model_fields["kind"].annotation)) <= named("benchmark-authors.md")


def test_everything_that_describes_a_parameter_is_explained() -> None:
    assert {*Parameter.model_fields, *get_args(Parameter.model_fields["type"].annotation)} <= named(
        "benchmark-authors.md"
    )


def test_every_bound_of_a_program_has_its_default() -> None:
    written = {key: cells[0].strip("`") for key, cells in table("benchmark-authors.md", "Bounds").items() if cells}
    for key in ("timeout_s", "slots", "sandbox"):
        assert written[key] == spelled(CommandPart.model_fields[key].default)


def test_every_condition_of_a_gate_is_explained() -> None:
    written = table("benchmarks.md", "A gate for CI")
    assert {re.split(r"[^a-z-]", key)[0] for key in written} == set(KINDS)


def test_every_outcome_of_a_benchmark_is_explained() -> None:
    assert set(OutcomeStatus) - {OutcomeStatus.RUNNING} <= table("benchmarks.md", "Outcomes").keys()


def test_every_built_in_benchmark_has_a_section() -> None:
    text = (DOCS / "built-in-benchmarks.md").read_text(encoding="utf-8")
    built_in = [known.descriptor.id for known in read_catalogue().benchmarks if known.origin == "built-in"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == built_in


def test_the_views_are_explained() -> None:
    assert set(VIEWS) <= table("results.md", "SQL").keys()


def choices(literal: Any) -> set[str]:
    """The values of a Literal."""
    return {name for name in get_args(literal) if name}


def test_every_value_that_people_read_has_words() -> None:
    assert words.CAUSES.keys() == {*Cause, NOT_RUN, AGENT_FAILURE}
    assert words.BOUNDARIES.keys() == set(Boundary)
    assert words.RUN_STATES.keys() == {*RunStatus, *HostedStatus, *choices(State)}
    assert words.EPISODE_STATES.keys() == set(EpisodeStatus) == choices(EpisodeState)
    assert words.EVENTS.keys() == set(Kind)
    assert words.AGGREGATIONS.keys() == choices(MetricDef.model_fields["aggregation"].annotation)
    # A program's own standard error is no method of ours.
    assert words.METHODS.keys() == choices(Method)
    assert words.SPACES.keys() == set(SpaceType)
    assert words.REWARDS.keys() == choices(RewardSpec.model_fields["type"].annotation)
    assert words.BUILD_STATES.keys() == set(BuildState)
    assert words.CHECKS.keys() == choices(CheckState)
