# mypy: ignore-errors
# ruff: noqa: E402, ANN001, ANN201, ANN202 -- it runs in another interpreter, and tools need plain signatures
"""Make logs with inspect_ai itself: `python make_inspect_logs.py DIR`. Runs in the interpreter that has it.

Solvers, tools, epochs, scorers, errors and limits, each as `.eval` and as `.json`, with a model that repeats texts.
"""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("INSPECT_DISPLAY", "none")

import tiktoken


class Words:
    """Counts words as tokens: the real tables are downloaded."""

    def encode(self, text: str, **_: Any) -> list[str]:
        """Return the words."""
        return text.split()

    encode_ordinary = encode


tiktoken.get_encoding = tiktoken.encoding_for_model = lambda _name: Words()

from inspect_ai import Epochs, Task, task_with
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, accuracy, choice, includes, match, mean, scorer, stderr
from inspect_ai.solver import chain_of_thought, generate, multiple_choice, solver, system_message, use_tools
from inspect_ai.tool import tool

MODEL = "mockllm/model"


@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: first
            y: second
        """
        return str(x + y)

    return execute


def graded(name: str, value: Any, metrics: Any) -> Any:
    """Return a scorer that gives a sample `value` of its number."""

    @scorer(metrics=metrics, name=name)
    def made():
        async def score(state, target):
            found = value(state.metadata["n"])
            if isinstance(found, Exception):
                raise found
            return None if found is None else Score(value=found, answer="a", explanation="why", metadata={"k": 1})

        return score

    return made()


@solver
def crash():
    async def solve(state, generate):
        state = await generate(state)
        if state.metadata["n"] == 1:
            raise RuntimeError("solver broke")
        return state

    return solve


@solver
def talk(turns: int = 4):
    async def solve(state, generate):
        for turn in range(turns):
            state = await generate(state)
            state.messages.append(ChatMessageUser(content=f"again {turn} " + "blah " * 400))
        return await generate(state)

    return solve


@solver
def storing():
    async def solve(state, generate):
        state.store.set("seen", [1, {"x": 2}])
        return await generate(state)

    return solve


def samples(count: int = 4) -> list[Sample]:
    return [
        Sample(
            id=f"s{n}" if n % 2 else n + 1,
            input=f"What is {n} + 1?",
            target=str(n + 1),
            metadata={"level": "hard" if n > 1 else "easy", "n": n},
        )
        for n in range(count)
    ]


def mock(*texts: str) -> Any:
    outputs = [ModelOutput.from_content(MODEL, text) for text in texts]
    return get_model(MODEL, custom_outputs=outputs or None)


def calling() -> Any:
    def each() -> Iterator[Any]:
        number = 0
        while True:
            yield ModelOutput.for_tool_call(MODEL, "add", {"x": number, "y": 1})
            yield ModelOutput.from_content(MODEL, f"The answer is {number + 1}")
            number += 1

    return get_model(MODEL, custom_outputs=each())


def tasks() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield tasks with their names and the arguments of `eval`."""

    def plain(value: Any, metrics: Any = None) -> Any:
        return Task(dataset=samples(), solver=generate(), scorer=graded("own", value, metrics or [mean()]))

    def solved(how: Any, by: Any, count: int = 4, **more: Any) -> Any:
        return Task(dataset=samples(count), solver=how, scorer=by, **more)

    four = ("1", "2", "the 3", "no")
    yield "match", solved(generate(), match()), {"model": mock(*four)}
    yield "system", solved([system_message("Be brief."), generate()], includes()), {"model": mock(*four)}
    yield "two", solved(generate(), [match(), includes()]), {"model": mock(*four)}
    yield "thought", solved([chain_of_thought(), generate()], includes(), 2), {"model": mock()}
    yield "tools", solved([use_tools(add()), generate()], includes()), {"model": calling(), "max_samples": 1}
    yield "again", solved([use_tools(add()), generate()], includes(), epochs=3), {"model": calling(), "max_samples": 1}
    yield "reduced", solved(generate(), match(), epochs=Epochs(4, ["mean", "pass_at_2"])), {"model": mock(*four * 4)}
    yield "letters", plain(lambda n: "CIPN"[n], [accuracy(), stderr()]), {"model": mock()}
    yield (
        "object",
        plain(lambda n: {"a": n / 4, "b": n % 2 == 0}, {"a": [mean(), stderr()], "b": [mean()]}),
        {"model": mock()},
    )
    yield "nan", plain(lambda n: math.nan if n == 1 else n * 2.5), {"model": mock()}
    yield "none", plain(lambda n: None if n == 1 else bool(n % 2)), {"model": mock()}
    yield "unscored", Task(dataset=samples(), solver=generate()), {"model": mock()}
    yield (
        "grader",
        plain(lambda n: RuntimeError("grader broke") if n == 2 else 1),
        {"model": mock(), "fail_on_error": False},
    )
    yield "kept", solved(crash(), match()), {"model": mock(), "fail_on_error": False}
    yield "failed", solved(crash(), match()), {"model": mock()}
    yield "messages", solved(talk(), match(), message_limit=4), {"model": mock()}
    yield "tokens", solved(talk(), match(), token_limit=20), {"model": mock()}
    yield "time", solved(talk(), match(), 2, time_limit=0), {"model": mock()}
    yield "working", solved(talk(), match(), 2, working_limit=0), {"model": mock()}
    yield "long", solved(talk(6), includes(), 3), {"model": mock("x" * 300, *["word " * 100] * 30)}
    yield "store", solved(storing(), includes(), 3), {"model": mock()}
    colours = [
        Sample(input="Pick", choices=["red", "green"], target="B", id=f"c{n}", metadata={"n": n}) for n in range(3)
    ]
    picked = mock("ANSWER: B", "ANSWER: A", "ANSWER: B")
    yield "choice", Task(dataset=colours, solver=multiple_choice(), scorer=choice()), {"model": picked}
    picture = ContentImage(image="data:image/png;base64," + "iVBORw0KGgo" * 30)
    seen = [ChatMessageSystem(content="sys"), ChatMessageUser(content=[ContentText(text="look"), picture])]
    chat = [Sample(id="chat", input=seen, target=["a", "b"], metadata={"n": 0})]
    yield "image", Task(dataset=chat, solver=generate(), scorer=includes()), {"model": mock("a")}
    config = GenerateConfig(temperature=0.7, max_tokens=33, top_p=0.9, seed=3)
    yield "config", solved(generate(), match(), 2, config=config), {"model": mock("1", "2"), "tags": ["t1"]}
    yield "roles", solved(generate(), match(), 2), {"model": mock("1", "2"), "model_roles": {"grader": mock("C")}}


def main() -> None:
    """Write the logs."""
    for form in ("eval", "json"):
        for name, task, options in tasks():
            folder = Path(sys.argv[1]) / form / name
            run_eval(task_with(task, name=name), log_dir=str(folder), log_format=form, display="none", **options)


if __name__ == "__main__":
    main()
