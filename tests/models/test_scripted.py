"""`builtin/scripted:FILE` plays its file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, UsageError
from mesocosm.core.model import EpisodeView, ModelRequest
from mesocosm.core.ports import Model

Opened = Callable[..., Model]


def at(step: int, seed: int = 1) -> ModelRequest:
    return ModelRequest([], view=EpisodeView(seed, "task", 0, step))


def scripted(opened: Opened, folder: Path, name: str, text: str) -> Model:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return opened(f"builtin/scripted:{path}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("replies.json", '["left", "up", {"x": 1}]'),
        ("replies.jsonl", '"left"\n\n"up"\n{"x": 1}\n'),
        ("replies.txt", 'left\nup\n{"x":1}\n'),
    ],
)
async def test_each_step_has_its_reply(opened: Opened, tmp_path: Path, name: str, text: str) -> None:
    model = scripted(opened, tmp_path, name, text)
    await model.check()
    assert [(await model.ask(at(step))).text for step in (0, 1, 2, 0)] == ["left", "up", '{"x":1}', "left"]


async def test_seeds_may_have_replies_of_their_own(opened: Opened, tmp_path: Path) -> None:
    model = scripted(opened, tmp_path, "r.json", '{"1": ["one"], "-2": ["minus two"], "*": ["other"]}')
    texts = [(await model.ask(at(0, seed))).text for seed in (1, -2, 3)]
    assert texts == ["one", "minus two", "other"]


async def test_a_seed_without_replies_is_an_error_that_lists_the_others(opened: Opened, tmp_path: Path) -> None:
    model = scripted(opened, tmp_path, "r.json", '{"1": ["one"]}')
    with pytest.raises(EpisodeError, match="no replies for seed 2; it has 1") as raised:
        await model.ask(at(0, 2))
    assert raised.value.cause is Cause.MODEL_REJECTED


async def test_the_end_of_the_script_is_an_error(opened: Opened, tmp_path: Path) -> None:
    model = scripted(opened, tmp_path, "r.json", '["left"]')
    with pytest.raises(EpisodeError, match="has 1 replies for seed 1, but the episode goes on to action 2"):
        await model.ask(at(1))


async def test_with_a_schema_replies_become_actions(
    opened: Opened, tmp_path: Path, left_or_right: dict[str, object]
) -> None:
    model = scripted(opened, tmp_path, "r.json", '["left", {"x": 1}, "{\\"action\\": \\"up\\"}"]')
    assert not model.capabilities.structured
    texts = [(await model.ask(replace(at(step), schema=left_or_right))).text for step in range(3)]
    assert texts == ['{"action":"left"}', '{"action":{"x":1}}', '{"action": "up"}']


async def test_outside_an_episode_the_first_reply_is_said(opened: Opened, tmp_path: Path) -> None:
    assert (await scripted(opened, tmp_path, "r.txt", "left\nup").ask(ModelRequest([]))).text == "left"


def test_a_missing_file_is_a_usage_error(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        opened(f"builtin/scripted:{tmp_path}/none.json")
    with pytest.raises(UsageError, match="needs a file"):
        opened("builtin/scripted")


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("r.json", "[", "is not JSON"),
        ("r.json", "3", "must be a list"),
        ("r.json", '{"1": "left"}', "1: is not a list but str"),
        ("r.json", '{"one": ["left"]}', "one: is not a seed"),
        ("r.jsonl", '"left"\n\n{\n"up"\nx', "line 5"),
    ],
)
def test_a_broken_script_is_named_by_place(opened: Opened, tmp_path: Path, name: str, text: str, place: str) -> None:
    with pytest.raises(UsageError, match=place):
        scripted(opened, tmp_path, name, text)


def test_all_problems_are_listed_together(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        scripted(opened, tmp_path, "r.jsonl", '{\n"left"\nx')
    assert [problem.path for problem in raised.value.problems] == ["line 1", "line 3"]


def test_text_that_is_no_utf_8_is_named(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_bytes(b"left\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        opened(f"builtin/scripted:{tmp_path}/r.txt")
