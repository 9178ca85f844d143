from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver


@solver
def play():
    async def solve(state, generate):
        seed, right = state.metadata["seed"], 0
        for a, b, c in ((seed + 100, seed + 12, seed + 2), (seed + 101, seed + 12, seed + 2)):
            question = f"Ada packs {a} boxes with {b} books each and gives {c} books away."
            state.messages.append(ChatMessageUser(content=question))
            state = await generate(state)
            right += int(state.output.completion) == a * b - c
        state.metadata["reward"] = right / 2
        return state

    return solve


@scorer(metrics=[mean()])
def reward():
    async def score(state, target):
        return Score(value=state.metadata["reward"])

    return score


@task
def two_sums():
    samples = [Sample(input=f"seed {seed}", metadata={"seed": seed}) for seed in range(40)]
    return Task(dataset=samples, solver=play(), scorer=reward())
