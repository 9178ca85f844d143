"""Tasks of lm-evaluation-harness: it builds the requests and scores the answers; models are asked through the proxy."""

import copy
import gc
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import Failed, digest, finite, versions
from .lm_eval_answers import Answers, letter, longest, question
from .lm_eval_index import TaskNames
from .lm_eval_loading import (
    CHOICE,
    GENERATE,
    LmEvalArguments,
    build_requests,
    facts_of,
    load_tasks,
    named,
    named_source,
    read_arguments,
    version,
    windows_of,
)
from .lm_eval_original import original_rows
from .lm_eval_scores import (
    GENERATED,
    NONE,
    TaskValue,
    WholeValue,
    group_values,
    score_of,
    values_of,
    whole_of,
    whole_values,
)
from .lm_eval_windows import Windows
from .model_calls import ModelAddress, ModelCalls

_PACKAGES = ("lm_eval", "datasets", "evaluate", "numpy", "sacrebleu", "scikit-learn")
_REMEDY = "a task with choices can be asked with letters, which is another measurement: choices=generate"
_NAMES = ("nan", "inf", "-inf")
_MOST_FACTS = 100
"""Of how many tasks a card tells the facts."""


@dataclass(frozen=True)
class _Document:
    """One episode: a document with all its requests."""

    task: Any
    doc_id: int
    doc: Any
    instances: list[Any]


class _Conversation(str):
    """The messages of a request, as text. A class of its own, so that no other text is taken for messages."""

    __slots__ = ()


class LmEval:
    """Speaks for lm-evaluation-harness."""

    def __init__(self) -> None:
        self._calls = ModelCalls()
        self._arguments = LmEvalArguments()
        self._windows: Windows | None = None
        self._source = ""
        self._primary = ""
        self._documents: list[_Document] = []
        self._values: dict[str, list[TaskValue]] = {}
        self._groups: dict[str, dict[str, TaskValue]] = {}
        self._within: dict[str, list[str]] = {}
        self._whole: list[WholeValue] = []
        self._kept: dict[str, set[str]] = {}

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield every group, tag and task by its name."""
        for entry in TaskNames(version()).catalogue():
            yield {"entry": entry}

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Load the tasks and build all their requests."""
        given = self._arguments = read_arguments(args)
        self._windows = windows_of(given)
        tasks, groups = load_tasks(source, given)
        self._source = source
        source = named_source(source)
        self._documents = [
            _Document(task, *found) for task in tasks.values() for found in build_requests(task, given, _conversation)
        ]
        self._values = {
            name: [TaskValue(GENERATED, better=True)] if self._lettered(task) else values_of(task)
            for name, task in tasks.items()
        }
        members = {group: [part.task_name for part in one.get_all_tasks()] for group, one in groups.items()}
        self._groups = {
            group: {value.key: value for value in group_values(one, [self._values[name] for name in members[group]])}
            for group, one in groups.items()
        }
        self._within = {name: [group for group, names in members.items() if name in names] for name in tasks}
        self._whole = whole_values(self._values, groups, members)
        self._kept = {name: {one.value.key for one in self._whole if name in one.tasks} for name in tasks}
        lettered = any(map(self._lettered, tasks.values()))
        scored = any(
            one.request_type != GENERATE
            for document in self._documents
            if not self._lettered(document.task)
            for one in document.instances
        )
        limits = [
            longest(task.config.generation_kwargs or {}) for task in tasks.values() if task.OUTPUT_TYPE == GENERATE
        ]
        metrics = self._metrics()
        self._primary = str(metrics[0]["score"]) if metrics else ""
        packages, facts = versions(*_PACKAGES), {name: facts_of(task) for name, task in tasks.items()}
        content = (
            [one.task.task_name, one.doc_id, one.doc, [i.args for i in one.instances]] for one in self._documents
        )
        # The packages and documents stay: collections of garbage need not go through them again and again.
        gc.freeze()
        only = next(iter(tasks.values())) if len(tasks) == 1 else None
        return {
            "id": f"lm-eval/{source}{'.generated' if lettered else ''}",
            "title": source if only is None else str(only.config.task_alias or source),
            "version": "" if only is None else str(only.VERSION),
            "digest": digest(source, given.facts, packages, facts, *content),
            "description": f"{len(tasks)} tasks of lm-evaluation-harness" if only is None else "",
            "tasks": len(self._documents),
            "metrics": metrics,
            "discovers": True,
            "packages": packages,
            "max_tokens": max(limits, default=longest({}) if lettered else None),
            "whole": "whole" if self._whole else "",
            "logprobs": _REMEDY if scored else "",
            "card": {"arguments": given.facts, **({"tasks": facts} if len(facts) <= _MOST_FACTS else {})},
        }

    def tasks(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield one task for each document."""
        for place, one in enumerate(self._documents):
            name = one.task.task_name
            within = {f"group {group}": group for group in self._within[name]}
            yield {
                "task": {
                    "id": f"{name}/{one.doc_id}",
                    "place": place,
                    "input": self._shown(one),
                    "target": _target(one),
                    "metadata": {"task": name, "doc_id": one.doc_id, **within},
                    "labels": {"task": name} if self._several else {},
                }
            }

    async def play(self, place: int, base_url: str, key: str, model: str, **_: Any) -> dict[str, Any]:
        """Ask all requests of a document, and score the answers."""
        document, given = self._documents[place], self._arguments
        address = ModelAddress(base_url, key, model)
        prefix, thought = given.prefix_token, given.think_end_token
        answers = Answers(self._calls, address, given.api == "chat", prefix, thought, self._windows)
        if self._lettered(document.task):
            return await self._choose(document, answers)
        instances = [copy.copy(one) for one in document.instances]
        for one in instances:
            one.resps, one.filtered_resps = [], {}
            for _repeat in range(one.repeats or 1):
                one.resps.append(await _respond(one, answers))
        return self._ended(document, instances)

    def original(
        self, base_url: str, key: str, model: str, limit: int | None = None, trials: int = 1, **_: Any
    ) -> Iterator[dict[str, Any]]:
        """Evaluate the first `limit` documents with the harness's own runner, and yield its values as our scores."""
        documents = self._documents[:limit]
        tasks = {one.task.task_name: one.task for one in documents}
        samples = {name: [one.doc_id for one in documents if one.task.task_name == name] for name in tasks}
        for trial in range(trials):
            address = ModelAddress(base_url, key, model)
            rows = original_rows(self._source, self._arguments, tasks, samples, address)
            for place, one in enumerate(documents):
                row = rows.get((one.task.task_name, one.doc_id))
                values = {
                    TaskValue(metric, filters).key: value
                    for filters, found in (row or {}).items()
                    for metric, value in found.items()
                }
                scores = self._spread(one.task.task_name, self._scores(one.task, values, {}))
                failed = "" if row is not None else "its own runner has no such document"
                yield {"sample": {"place": place, "trial": trial, "scores": scores, "failed": failed}}

    def whole(self, infos: Sequence[Mapping[str, Any]], **_: Any) -> list[dict[str, Any]]:
        """Return the numbers of a run that are no means, of what its episodes keep under `whole`."""
        values: dict[str, dict[str, list[Any]]] = {}
        sizes = Counter(str(one["task"]) for one in infos)
        for one in infos:
            for key, value in one["values"].items():
                # What is no number in JSON arrives as its name.
                number = float(value) if value in _NAMES else value
                values.setdefault(key, {}).setdefault(one["task"], []).append(number)
        return [one.number(values.get(one.value.key, {}), sizes) for one in self._whole]

    @property
    def _several(self) -> bool:
        return len(self._values) > 1

    def _lettered(self, task: Any) -> bool:
        return self._arguments.choices == "generate" and task.OUTPUT_TYPE == CHOICE

    def _metrics(self) -> list[dict[str, Any]]:
        """Return the metrics of all groups and tasks; the first one is the primary."""
        found = [
            value.metric_of(f"{group}/", {f"group {group}": group})
            for group, values in self._groups.items()
            for value in values.values()
        ]
        for name, values in self._values.items():
            prefix, where = (f"{name}/", {"task": name}) if self._several else ("", {})
            found += [value.metric_of(prefix, where) for value in values]
        if found:
            found[0]["primary"] = True
        return found

    def _ended(self, document: _Document, instances: Sequence[Any]) -> dict[str, Any]:
        """Return the outcome of a document whose instances have their answers."""
        task = document.task
        given, broken = _results(document, instances)
        scores = self._scores(task, given, broken)
        for value in self._values[task.task_name]:
            answer = _answer(document, instances, value.filter)
            scores[value.name] |= {"answer": answer, "expected": _target(document)}
        info = {
            "task": task.task_name,
            "doc_id": document.doc_id,
            "responses": [one.resps for one in instances],
            "filtered": {one.name: [i.filtered_resps.get(one.name) for i in instances] for one in task._filters},
        }
        if kept := self._kept.get(task.task_name, set()):
            info["whole"] = {"task": task.task_name, "values": {key: given[key] for key in kept & given.keys()}}
        answer = _answer(document, instances, task._filters[0].name if task._filters else NONE)
        return {"status": "completed", "scores": self._spread(task.task_name, scores), "answer": answer, "info": info}

    def _scores(self, task: Any, given: Mapping[str, Any], broken: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return the scores of a document by name, of the values that its task gave."""
        values = self._values[task.task_name]
        scores = {value.name: score_of(value, given, broken.get(value.filter, "")) for value in values}
        declared = {value.key for value in values}
        # Some tasks give values that they have not declared, and say only then what is made of them.
        for value in [_undeclared(key, task) for key in given if key not in declared]:
            if value.number(given[value.key]) is not None:
                scores[value.name] = score_of(value, given, "")
        return scores

    def _spread(self, task: str, scores: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the scores of a document of a task under the names of the task and of its groups."""
        if not self._several:
            return [{"name": name, **score} for name, score in scores.items()]
        found = [{"name": f"{task}/{name}", **score} for name, score in scores.items()]
        lacking = {"missing": "skipped", "explanation": f"{task} has no such score"}
        for group in self._within[task]:
            names = [value.name for value in self._groups[group].values()]
            found += [{"name": f"{group}/{name}", **scores.get(name, lacking)} for name in names]
        # Without it, a document that the primary metric does not cover would be one that could not be scored.
        covered = any(one["name"] == self._primary for one in found)
        return found if covered else [*found, {"name": self._primary, **lacking}]

    async def _choose(self, document: _Document, answers: Answers) -> dict[str, Any]:
        """Ask a task with choices as a question with letters."""
        context, choices, right = _choices(document)
        said = await answers.generate(question(context, choices), {})
        place = letter(said, len(choices))
        score = {
            "value": float(place is not None and place in right),
            "explanation": "" if place is not None else "the reply names none of the letters",
            "answer": said if place is None else choices[place],
            "expected": _target(document),
        }
        info = {"task": document.task.task_name, "doc_id": document.doc_id, "responses": [[said]], "choice": place}
        scores = self._spread(document.task.task_name, {GENERATED: score})
        return {"status": "completed", "scores": scores, "answer": said, "info": info}

    def _shown(self, document: _Document) -> Any:
        """Return what the model is asked."""
        if self._lettered(document.task):
            context, choices, _ = _choices(document)
            return question(context, choices)
        first, arguments = document.instances[0], [one.args for one in document.instances]
        if first.request_type == GENERATE:
            return _messages(first.args[0])
        if first.request_type == "loglikelihood_rolling":
            return first.args[0]
        contexts = list(dict.fromkeys(one[0] for one in arguments))
        if len(contexts) == 1:
            return {"context": contexts[0], "continuations": [one[1] for one in arguments]}
        return [{"context": one[0], "continuation": one[1]} for one in arguments]


async def _respond(instance: Any, answers: Answers) -> Any:
    """Return what the model says to one request."""
    arguments = instance.args
    if instance.request_type == GENERATE:
        return await answers.generate(_messages(arguments[0]), arguments[1])
    if instance.request_type == "loglikelihood":
        return await answers.loglikelihood(arguments[0], arguments[1])
    if instance.request_type == "loglikelihood_rolling":
        return await answers.loglikelihood_rolling(arguments[0])
    raise Failed(f"requests of the type {instance.request_type} are not known", "environment_invalid")


def _results(document: _Document, instances: Sequence[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of a document by name, and by filter why there are none."""
    task, found, broken = document.task, dict[str, Any](), dict[str, str]()
    for filters in task._filters:
        try:
            filters.apply(list(instances))
            results = task.process_results(document.doc, [one.filtered_resps[filters.name] for one in instances])
            found |= {TaskValue(name, filters.name).key: value for name, value in results.items()}
        except Exception as error:  # noqa: BLE001 -- foreign code
            broken[filters.name] = f"the task could not score the answer: {named(error)}"
    return found, broken


def _undeclared(key: str, task: Any) -> TaskValue:
    metric, _, filters = key.rpartition(",") if "," in key else (key, "", NONE)
    return TaskValue(metric, filters, whole_of(task.aggregation().get(metric)), task.higher_is_better().get(metric))


def _conversation(history: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> str:
    """Stand for the chat template of the model, which only its server knows."""
    del add_generation_prompt
    return _Conversation(json.dumps(history, ensure_ascii=False))


def _messages(context: str) -> Any:
    return json.loads(context) if isinstance(context, _Conversation) else context


def _choices(document: _Document) -> tuple[str, list[str], list[int]]:
    """Return the context of a question, its choices, and which of them are right."""
    task, doc, arguments = document.task, document.doc, [one.args for one in document.instances]
    choices = [str(one) for one in task.doc_to_choice(doc)]
    arguments = arguments[: len(choices)]
    if getattr(task, "multiple_input", 0):
        choices, context, gold = ["".join(one[:2]) for one in arguments], "", task.doc_to_text(doc)
    else:
        context, gold = arguments[0][0], task.doc_to_target(doc)
    named_right = gold if isinstance(gold, list) else [gold]
    right = [choices.index(one) if isinstance(one, str) and one in choices else one for one in named_right]
    return context, choices, [one for one in right if isinstance(one, int)]


def _target(document: _Document) -> Any:
    """Return what is right, as people read it; None if the task cannot say."""
    task, doc = document.task, document.doc
    try:
        target = task.doc_to_text(doc) if getattr(task, "multiple_input", 0) else task.doc_to_target(doc)
        if isinstance(target, int) and getattr(task.config, "doc_to_choice", None) is not None:
            return str(task.doc_to_choice(doc)[target])
    except Exception:  # noqa: BLE001 -- foreign code
        return None
    return target


def _answer(document: _Document, instances: Sequence[Any], filters: str) -> Any:
    """Return what the model answered: the text that a filter left, or the most probable choice."""
    said = [one.filtered_resps.get(filters) for one in instances]
    if instances[0].request_type == "loglikelihood" and document.task.OUTPUT_TYPE == CHOICE:
        numbers = [finite(one[0]) if isinstance(one, list | tuple) and one else None for one in said]
        known = [(number, -place) for place, number in enumerate(numbers) if number is not None]
        return instances[-max(known)[1]].args[1].strip() if known else None
    return said[0] if len(said) == 1 else said


def framework() -> LmEval:
    """Return what speaks for lm-evaluation-harness."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return LmEval()
