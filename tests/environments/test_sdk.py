"""The author's side: names, defaults and freedoms that existing environments rely on."""

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from bench_common import env_sdk
from bench_common.env_sdk import base
from mesocosm.environments.sdk import BaseEnv, StepResult


class Minimal(BaseEnv):
    """Defines no more than an environment must, and calls no constructor of the base class."""

    def __init__(self) -> None:
        self.word = "tide"

    def reset(self, seed: int | None = None, scenario: str | None = None, **params: Any) -> str:
        return self.word

    def step(self, action: Any) -> StepResult:
        return StepResult(observation=action, reward=1.0, terminated=True, truncated=False)


def test_a_step_result_takes_its_fields_by_position_in_the_documented_order() -> None:
    fields = ("sea", 0.5, True, False, {"depth": 3}, "You are a diver.", "text/plain")
    assert dataclasses.astuple(StepResult(*fields)) == fields
    assert list(StepResult.__dataclass_fields__) == [
        "observation",
        "reward",
        "terminated",
        "truncated",
        "info",
        "system_prompt",
        "content_type",
    ]


def test_a_step_result_has_an_empty_info_of_its_own_no_prompt_and_json_by_default() -> None:
    first, second = (Minimal().step(action) for action in ("up", "down"))
    first.info["seen"] = True
    assert (second.info, second.system_prompt, second.content_type) == ({}, None, "application/json")


def test_the_content_type_of_a_step_result_can_be_set_afterwards() -> None:
    result = Minimal().step("aGk=")
    result.content_type = "image/png"
    assert result.content_type == "image/png"


def test_an_environment_without_reset_or_step_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="reset"):
        type("Empty", (BaseEnv,), {})()


def test_the_optional_methods_have_harmless_defaults() -> None:
    env = Minimal()
    assert env.parse_action({"move": "up"}) == {"move": "up"}
    assert env.render() == {}
    env.close()


def test_an_environment_offers_no_oracle_unless_it_defines_one() -> None:
    with pytest.raises(NotImplementedError, match="Minimal offers no oracle"):
        Minimal().oracle()


def test_both_old_import_places_hold_the_same_classes() -> None:
    assert env_sdk.BaseEnv is base.BaseEnv is BaseEnv
    assert env_sdk.StepResult is base.StepResult is StepResult


def test_serve_is_found_where_environments_import_it() -> None:
    from bench_common.env_sdk import serve
    from mesocosm.environments import server

    assert serve is server.serve


def test_an_unknown_name_of_the_sdk_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="start_server"):
        _ = env_sdk.start_server


def test_importing_the_sdk_imports_no_web_server() -> None:
    program = "import sys, bench_common.env_sdk; print(*sorted({'fastapi', 'uvicorn', 'pydantic'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == ""
