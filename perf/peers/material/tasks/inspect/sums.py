from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, csv_dataset
from inspect_ai.scorer import exact


@task
def sums():
    fields = FieldSpec(input="question", target="answer")
    return Task(dataset=csv_dataset("questions.csv", fields), scorer=exact())
