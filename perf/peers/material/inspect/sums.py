"""The work as a task of Inspect."""

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import exact
from inspect_ai.solver import generate


@task
def sums(rows: str) -> Task:
    """Ask each question once; the answer has to be the number."""
    fields = FieldSpec(input="question", target="answer")
    return Task(dataset=json_dataset(rows, fields), solver=generate(), scorer=exact())
