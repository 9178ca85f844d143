"""Tasks of Inspect for the tests; only the interpreter of the guest imports this file."""

# mypy: disable-error-code="untyped-decorator"

from collections.abc import Callable
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, accuracy, includes, match, mean, model_graded_qa, scorer, stderr
from inspect_ai.solver import generate, solver, system_message, use_tools
from inspect_ai.tool import bash, tool


@tool
def add() -> Callable[..., Any]:
    async def execute(x: int, y: int) -> int:
        """Add two numbers.

        Args:
            x: The first number.
            y: The second number.
        """
        return x + y

    return execute


def samples(count: int) -> list[Sample]:
    return [
        Sample(input=f"What is {n} + 1?", target=str(n + 1), metadata={"parity": ("even", "odd")[n % 2]})
        for n in range(count)
    ]


@task
def sums(count: int = 6, tools: bool = True) -> Task:
    steps = [use_tools(add())] if tools else []
    return Task(
        dataset=samples(count),
        solver=[system_message("Answer with a number."), *steps, generate()],
        scorer=[includes(), match()],
    )


@task
def judged(count: int = 4) -> Task:
    return Task(dataset=samples(count), solver=generate(), scorer=model_graded_qa())


@scorer(metrics={"short": [accuracy()], "length": [mean()]})
def parts() -> Callable[..., Any]:
    async def score(state: Any, target: Any) -> Score:
        said = state.output.completion
        return Score(value={"short": "C" if len(said) < 2 else "I", "length": len(said)}, explanation=said)

    return score


@task
def measured(count: int = 4) -> Task:
    return Task(dataset=samples(count), solver=generate(), scorer=parts())


@scorer(metrics=[accuracy(), stderr()])
def troubled_scorer() -> Callable[..., Any]:
    async def score(state: Any, target: Any) -> Score | None:
        said = state.input_text
        if "What is 0" in said:
            return Score(value=float("nan"))
        if "What is 1" in said:
            return Score(value="a matter of taste")
        if "What is 2" in said:
            raise ValueError("this scorer is out of order")
        return None if "What is 3" in said else Score(value="C")

    return score


@task
def troubled_scores(count: int = 5) -> Task:
    return Task(dataset=samples(count), solver=generate(), scorer=[troubled_scorer(), includes()])


@solver
def troubled_solver() -> Callable[..., Any]:
    async def solve(state: Any, generate: Any) -> Any:
        state = await generate(state)
        if "What is 1" in state.input_text:
            raise RuntimeError("this solver is out of order")
        return state

    return solve


@task
def troubled_solving(count: int = 3) -> Task:
    return Task(dataset=samples(count), solver=troubled_solver(), scorer=includes())


@task
def limited(count: int = 2) -> Task:
    return Task(dataset=samples(count), solver=[use_tools(add()), generate()], scorer=includes(), message_limit=2)


@solver
def stopping() -> Callable[..., Any]:
    async def solve(state: Any, generate: Any) -> Any:
        return await generate(state, stop_seqs=["END"], seed=7)

    return solve


@task
def stopped() -> Task:
    return Task(dataset=samples(1), solver=stopping(), scorer=includes())


@solver
def two_models() -> Callable[..., Any]:
    async def solve(state: Any, generate: Any) -> Any:
        other = await get_model(role="negotiator", default="openai/gpt-4o").generate("What is 1 + 1?")
        state.metadata["said"] = other.completion
        return await generate(state)

    return solve


@task
def with_roles() -> Task:
    return Task(dataset=samples(1), solver=two_models(), scorer=includes())


@solver
def shell() -> Callable[..., Any]:
    async def solve(state: Any, generate: Any) -> Any:
        said = await bash()(cmd="echo 1")
        state.output.completion = str(said).strip()
        await generate(state)
        state.output.completion = str(said).strip()
        return state

    return solve


@task
def sandboxed() -> Task:
    return Task(dataset=samples(1), solver=shell(), scorer=includes(), sandbox="docker")
