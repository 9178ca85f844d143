"""The benchmark `bfcl`: the leaderboard's files become tasks, and answers are graded by their calls."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mesocosm.agents.call_text import TextCall
from mesocosm.benchmarks.builtin.bfcl import official
from mesocosm.benchmarks.builtin.bfcl.calls import calls_of
from mesocosm.benchmarks.builtin.bfcl.categories import CATEGORIES, Category, chosen
from mesocosm.benchmarks.builtin.bfcl.checker import Function, Key, fault, kind_of_fault
from mesocosm.benchmarks.builtin.bfcl.files import Item, available, read_items
from mesocosm.benchmarks.builtin.bfcl.gold import REFUSAL, any_answer, best_answer
from mesocosm.benchmarks.builtin.bfcl.tools import own_names, tool
from mesocosm.benchmarks.drawing import draw
from mesocosm.benchmarks.native import SEED, LoadedTasks, NativeBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause
from mesocosm.core.ids import digest
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.turn import Answer, CalledTool, Turn, read_answer

CALLS_SCORE = "accuracy_calls"
OFFICIAL_SCORE = "score_official"
FORM_SCORE = "format_only"
_NOT_DECODED = "the leaderboard reads such text with parsers of Java and JavaScript that are not part of mesocosm"
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
        """Return the overall score, that of all items with calls, one for each category, and the leaderboard's."""
        official_scores = (
            Metric(OFFICIAL_SCORE, OFFICIAL_SCORE, low=0.0, high=1.0),
            Metric(FORM_SCORE, FORM_SCORE, low=0.0, high=1.0, directed=False),
        )
        return (*super().metrics(), *_parts(self.categories), *official_scores)

    def best(self, task: Task) -> Any:
        """Return the calls of the answer key, or an answer without any."""
        category, functions = _BY_NAME[task.metadata["category"]], task.target["functions"]
        if category.expects == "none":
            return REFUSAL.data()
        if category.expects == "any":
            return any_answer(functions).data()
        return best_answer(functions, task.target["calls"], category.language).data()

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return 1 for right calls and 0 for wrong ones, as overall score and that of the category.

        Also the leaderboard's verdict on the same answer, and whether only the form of the calls makes the difference.
        """
        category = _BY_NAME[task.metadata["category"]]
        answer = read_answer(episode.terminal_info.get("answer"))
        functions = task.target["functions"]
        calls = calls_of(answer, functions, category.language)
        wrong = _fault(category, functions, task.target["calls"], calls)
        names = [self.descriptor.score.field, f"accuracy_{category.name}"]
        if category.expects == "calls":
            names.append(CALLS_SCORE)
        value, expected = 0.0 if wrong else 1.0, self.best(task)
        made = _as_answer(calls).data() if calls else None
        mistake = kind_of_fault(wrong)
        scores = [
            Score(name, value, explanation=wrong, answer=made, expected=expected, mistake=mistake) for name in names
        ]
        return [*scores, *_official(category, task, answer, calls, right=not wrong)]


def _task(category: Category, item: Item) -> Task:
    system = "\n\n".join(message.text for message in item.messages if message.role == "system")
    said = tuple(message for message in item.messages if message.role != "system")
    tools = tuple(tool(function, category.language) for function in item.functions)
    turn = Turn(said, tools, system=system or None)
    target = {"functions": item.functions, "calls": item.keys}
    return Task(item.id, turn.data(), target, metadata={"category": category.name, "expects": category.expects})


def _as_answer(calls: Sequence[TextCall]) -> Answer:
    return Answer(tool_calls=tuple(CalledTool(call.name, call.arguments) for call in calls))


def _fault(category: Category, functions: Sequence[Function], keys: Sequence[Key], calls: Sequence[TextCall]) -> str:
    if category.expects == "none":
        return f"calls {calls[0].name or 'something'} where no function fits" if calls else ""
    if category.expects == "any":
        names = own_names(functions)
        return "" if any(call.name in names for call in calls) else "calls none of the functions"
    return fault(functions, calls, keys, category.language)


def _official(category: Category, task: Task, answer: Answer, calls: Sequence[TextCall], *, right: bool) -> list[Score]:
    """Return the leaderboard's verdict, and 1 if an answer is wrong there only because of the form of its calls."""
    functions, keys = task.target["functions"], task.target["calls"]
    verdict = official.is_right(category, functions, keys, answer)
    if verdict is None:
        return [
            Score(name, missing=Cause.UNVERIFIED, explanation=_NOT_DECODED) for name in (OFFICIAL_SCORE, FORM_SCORE)
        ]
    form_only = right and not verdict and official.is_right_in_content(category, functions, keys, calls)
    explanation = "the calls are right, but not in a form that the leaderboard reads" if form_only else ""
    return [Score(OFFICIAL_SCORE, float(verdict), explanation=explanation), Score(FORM_SCORE, float(form_only))]


def _parts(categories: Sequence[Category]) -> Iterator[Metric]:
    if any(category.expects == "calls" for category in categories):
        yield Metric(CALLS_SCORE, CALLS_SCORE, low=0.0, high=1.0, where={"expects": "calls"})
    for category in categories:
        name = f"accuracy_{category.name}"
        yield Metric(name, name, low=0.0, high=1.0, where={"category": category.name})


open_benchmark = FunctionCalling
