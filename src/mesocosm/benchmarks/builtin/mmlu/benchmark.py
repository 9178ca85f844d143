"""The benchmark `mmlu`."""

from collections.abc import Sequence

from mesocosm.benchmarks.builtin.mmlu.grading import LETTERS, chosen
from mesocosm.benchmarks.builtin.mmlu.rows import read
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.question import ANSWER
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.score import Score
from mesocosm.core.space import SpaceSpec, SpaceType
from mesocosm.core.task import Task
from mesocosm.core.turn import read_answer

_ASK = """The following is a multiple-choice question about {subject}.

{question}

{options}

Reply with the letter of the right option. If you explain your choice, end with a line that holds nothing but \
`Answer:` and the letter."""


class Mmlu(NativeBenchmark):
    """One question with four options per task. A sample takes evenly from all subjects."""

    action_space = SpaceSpec(type=SpaceType.DISCRETE, enum_values=list(LETTERS))

    def load(self) -> LoadedTasks:
        """Return the questions in order. Raises UsageError, InvalidInput, Incompatible."""
        tasks, content = read(self.descriptor.id, self.setup.path("data_path"), str(self.parameters["revision"]))
        wanted = set(self.parameters["subjects"] or ())
        unknown = sorted(wanted - {task.metadata["category"] for task in tasks})
        if unknown:
            raise UsageError(f"mmlu: the data has no subject {unknown[0]!r}; subjects are spelled as abstract_algebra")
        return LoadedTasks([task for task in tasks if not wanted or task.metadata["category"] in wanted], content)

    def shown(self, task: Task) -> str:
        """Return the question with its options by letter."""
        options = zip(LETTERS, task.input["choices"], strict=True)
        return _ASK.format(
            subject=str(task.metadata["category"]).replace("_", " "),
            question=task.input["question"],
            options="\n".join(f"{letter}. {choice}" for letter, choice in options),
        )

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return 1 for a reply that chooses only the right option, else 0; and the same for its area."""
        given = chosen(read_answer(episode.terminal_info.get(ANSWER)).text)
        explanation = "it chooses no single option" if given is None else f"it chooses {given}"
        right = given == task.target
        names = (self.descriptor.score.field, str(task.metadata["area"]))
        wrong = explanation if given is None else f"{explanation}, expected {task.target}"
        return [Score(name, float(right), explanation="" if right else wrong, answer=given) for name in names]


open_benchmark = Mmlu
