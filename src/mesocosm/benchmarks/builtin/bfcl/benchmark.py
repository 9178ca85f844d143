"""The benchmark `bfcl`: the leaderboard's files become tasks, and answers are graded by their calls."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.builtin.bfcl.calls import FunctionCall, calls_of
from mesocosm.benchmarks.builtin.bfcl.categories import CATEGORIES, Category, chosen
from mesocosm.benchmarks.builtin.bfcl.checker import fault, kind_of_fault
from mesocosm.benchmarks.builtin.bfcl.files import Item, available, read_items
from mesocosm.benchmarks.builtin.bfcl.gold import REFUSAL, any_answer, best_answer
from mesocosm.benchmarks.builtin.bfcl.tools import own_names, tool
from mesocosm.benchmarks.drawing import draw
from mesocosm.benchmarks.native import SEED, LoadedTasks, NativeBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.ids import digest
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.turn import Answer, CalledTool, Turn, read_answer

CALLS_SCORE = "accuracy_calls"
_BY_NAME = {category.name: category for category in CATEGORIES}


class FunctionCalling(NativeBenchmark):
    """Functions are offered as tools; the right answer is a set of calls, or no call."""

    max_steps = 1

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """The selected categories: those of the parameter, or else all that the data has."""
        names = self.parameters.get("categories")
        return chosen(names) if names else available(self._folder)

    @property
    def _folder(self) -> Path | None:
        return self.setup.path("data_path")

    def load(self) -> LoadedTasks:
        """Return the tasks of the chosen categories, at most `max_per_category` of each."""
        most, seed = self.parameters.get("max_per_category"), int(self.parameters.get(SEED) or 0)
        tasks: list[Task] = []
        contents: list[Any] = []
        for category in self.categories:
            items, content = read_items(category, self._folder, str(self.parameters["revision"]))
            asked = [_task(category, item) for item in items]
            tasks += draw(asked, most, seed, lambda _: "")
            contents.append([category.name, content])
        return LoadedTasks(tasks, digest([contents, most, seed if most is not None else None]))

    def metrics(self) -> tuple[Metric, ...]:
        """Return the overall score, that of all items with calls, and one for each selected category."""
        return (*super().metrics(), *_parts(self.categories))

    def best(self, task: Task) -> Any:
        """Return the calls of the answer key, or an answer without any."""
        category, functions = _BY_NAME[task.metadata["category"]], task.target["functions"]
        if category.expects == "none":
            return REFUSAL.data()
        if category.expects == "any":
            return any_answer(functions).data()
        return best_answer(functions, task.target["calls"], category.language).data()

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return 1 for right calls and 0 for wrong ones, as the overall score and that of the category."""
        category = _BY_NAME[task.metadata["category"]]
        action = episode.terminal_info.get("answer")
        wrong, made = _fault(category, task, action), _made(task, action)
        names = [self.descriptor.score.field, f"accuracy_{category.name}"]
        if category.expects == "calls":
            names.append(CALLS_SCORE)
        value, expected = 0.0 if wrong else 1.0, self.best(task)
        mistake = kind_of_fault(wrong)
        return [
            Score(name, value, explanation=wrong, answer=made, expected=expected, mistake=mistake) for name in names
        ]


def _task(category: Category, item: Item) -> Task:
    system = "\n\n".join(message.text for message in item.messages if message.role == "system")
    said = tuple(message for message in item.messages if message.role != "system")
    tools = tuple(tool(function, category.language) for function in item.functions)
    turn = Turn(said, tools, system=system or None)
    target = {"functions": item.functions, "calls": item.keys}
    return Task(item.id, turn.data(), target, metadata={"category": category.name, "expects": category.expects})


def _made(task: Task, action: Any) -> Any:
    """Return an answer with the calls that its text spells as calls; without any the answer as it is."""
    names = own_names(task.target["functions"])
    calls = [CalledTool(names.get(one.name, one.name), one.arguments) for one in calls_of(read_answer(action), names)]
    return Answer(tool_calls=tuple(calls)).data() if calls else None


def _fault(category: Category, task: Task, action: Any) -> str:
    functions = task.target["functions"]
    names = own_names(functions)
    calls = [
        FunctionCall(names.get(call.name, call.name), call.arguments) for call in calls_of(read_answer(action), names)
    ]
    if category.expects == "none":
        return f"calls {calls[0].name or 'something'} where no function fits" if calls else ""
    if category.expects == "any":
        known = any(call.name in names for call in calls)
        return "" if known else "calls none of the functions"
    return fault(functions, calls, task.target["calls"], category.language)


def _parts(categories: Sequence[Category]) -> Iterator[Metric]:
    if any(category.expects == "calls" for category in categories):
        yield Metric(CALLS_SCORE, CALLS_SCORE, low=0.0, high=1.0, where={"expects": "calls"})
    for category in categories:
        name = f"accuracy_{category.name}"
        yield Metric(name, name, low=0.0, high=1.0, where={"category": category.name})


open_benchmark = FunctionCalling
