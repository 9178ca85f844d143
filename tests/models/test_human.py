"""`builtin/human` on a pseudo terminal."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import EpisodeView, ModelRequest
from mesocosm.core.space import parse_space
from mesocosm.models.catalogue import open_model
from mesocosm.models.human import open_human, question

END_OF_FILE = b"\x04"


class Person:
    """The other end of the terminal."""

    def __init__(self) -> None:
        self.ours, theirs = os.openpty()
        self.terminal = os.ttyname(theirs)
        self._theirs = theirs

    async def read_until(self, text: str) -> str:
        seen = b""
        while text.encode() not in seen:
            seen += await asyncio.to_thread(os.read, self.ours, 4096)
        return seen.decode()

    def type(self, data: bytes) -> None:
        os.write(self.ours, data)

    def leave(self) -> None:
        os.close(self._theirs)
        os.close(self.ours)


@pytest.fixture
def person() -> Iterator[Person]:
    person = Person()
    yield person
    person.leave()


def asked(task: str = "task 1", step: int = 0) -> ModelRequest:
    space = parse_space({"type": "discrete", "enum_values": ["left", "right"]}, "", [])
    return ModelRequest([Message("user", "prompt")], view=EpisodeView(1, task, 0, step, space, {"board": "x."}))


async def test_the_person_sees_the_question_and_answers(person: Person) -> None:
    model = open_human("builtin/human", person.terminal)
    await model.check()
    answer = asyncio.create_task(model.ask(asked()))
    seen = await person.read_until("> ")
    person.type(b"left\n")
    assert (await answer).text == "left"
    assert "task 1 · step 1" in seen
    assert '"board": "x."' in seen
    assert "left, right" in seen


async def test_questions_come_one_at_a_time(person: Person) -> None:
    model = open_human("builtin/human", person.terminal)
    answers = [asyncio.create_task(model.ask(asked(task))) for task in ("task 1", "task 2")]
    first = await person.read_until("> ")
    assert "task 2" not in first
    person.type(b"left\n")
    second = await person.read_until("task 2")
    assert "task 1" not in second
    person.type(b"right\n")
    assert [(await answer).text for answer in answers] == ["left", "right"]


async def test_the_end_of_the_terminal_cancels_this_question_and_all_later_ones(person: Person) -> None:
    model = open_human("builtin/human", person.terminal)
    answer = asyncio.create_task(model.ask(asked()))
    await person.read_until("> ")
    person.type(END_OF_FILE)
    for call in (answer, asyncio.ensure_future(model.ask(asked("task 2")))):
        with pytest.raises(EpisodeError, match="resume the run") as raised:
            await call
        assert raised.value.cause is Cause.CANCELLED


async def test_a_schema_is_answered_in_json(person: Person, left_or_right: dict[str, object]) -> None:
    model = open_human("builtin/human", person.terminal)
    request = ModelRequest([Message("user", "which way?")], schema=left_or_right)
    answer = asyncio.create_task(model.ask(request))
    assert "which way?" in await person.read_until("> ")
    person.type(b"left\n")
    assert (await answer).text == '{"action":"left"}'


async def test_without_a_terminal_the_check_says_what_to_use_instead() -> None:
    model = open_human("builtin/human", "/nowhere/tty")
    with pytest.raises(UsageError, match="builtin/scripted"):
        await model.check()


def test_it_is_opened_by_name() -> None:
    from mesocosm.core.model import ModelSettings

    assert open_model(ModelSettings("builtin/human")).capabilities.local


def test_without_an_observation_the_prompt_is_shown_and_long_ones_are_cut() -> None:
    view = EpisodeView(1, "t", 1, 4)
    assert question(ModelRequest([Message("user", "the prompt")], view=view)).startswith(
        "── t · step 5 · trial 2\nthe prompt"
    )
    long = EpisodeView(1, "t", 0, 0, observation="x" * 100_000)
    assert len(question(ModelRequest([], view=long))) < 4200
