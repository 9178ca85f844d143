"""Read results of the language model evaluation harness (lm-eval) as runs: one run for each task with samples."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.score import Metric, MetricResult, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.interop.imports.assembly import ForeignHead, ForeignSample, ImportedRun, assemble
from mesocosm.interop.imports.foreign_json import read_foreign_json
from mesocosm.interop.imports.trace_writer import TraceWriter
from mesocosm.interop.stated import stated_metric

FORM = "lm-eval"

JSON = dict[str, Any]

_SHARES = frozenset({"acc", "acc_norm", "acc_mutual_info", "acc_bytes", "exact_match", "em", "f1", "mc1", "mc2"})
"""Metrics whose values lie between 0 and 1."""

_CHECKED = 64 * 1024


def is_lm_eval(document: Any) -> bool:
    """Return whether a JSON document holds results of lm-eval."""
    return isinstance(document, Mapping) and isinstance(document.get("results"), Mapping) and "configs" in document


def is_lm_eval_samples(path: Path) -> bool:
    """Return whether a file holds the samples of a task of lm-eval. Raises OSError."""
    if path.suffix.lower() != ".jsonl" or not path.name.startswith("samples_"):
        return False
    with path.open("rb") as file:
        line = file.readline(_CHECKED)
    return b'"doc_id"' in line


def results_beside(samples: Path) -> Path | None:
    """Return the results that a file of samples belongs to, None if they are not beside it."""
    stamp = samples.stem.rpartition("_")[2]
    found = samples.with_name(f"results_{stamp}.json")
    return found if found.is_file() else None


def samples_of(results: Path, task: str) -> Path:
    """Return the file with the samples of a task, whether or not it exists."""
    stamp = results.stem.removeprefix("results_")
    return results.with_name(f"samples_{task}_{stamp}.jsonl")


def read_lm_eval(path: Path, document: JSON, redactor: Redactor) -> Iterator[ImportedRun]:
    """Yield a run for each task whose samples stand beside the results. Raises UsageError if none does."""
    groups = set(document.get("group_subtasks") or ()) - set(document.get("configs") or ())
    tasks = [str(name) for name in document["results"] if name not in groups]
    there = [task for task in tasks if samples_of(path, task).is_file()]
    if not there:
        raise UsageError(
            f"{path} holds numbers of {', '.join(tasks[:3]) or 'no task'}, and no file {samples_of(path, 'TASK').name} "
            "is beside it, so nothing can be computed from documents; run lm_eval with --log_samples"
        )
    for task in there:
        yield _run(path, document, task, redactor)


def _run(path: Path, document: JSON, task: str, redactor: Redactor) -> ImportedRun:
    config = (document.get("configs") or {}).get(task) or {}
    stated = {name: value for name, value in document["results"][task].items() if _is_number(value)}
    higher = (document.get("higher_is_better") or {}).get(task) or {}
    at = document.get("date")
    at = float(at) if isinstance(at, int | float) else 0.0
    spent = _parsed(document.get("total_evaluation_time_seconds"))
    shots = (document.get("n-shot") or {}).get(task)
    counted = ((document.get("n-samples") or {}).get(task) or {}).get("effective")
    given = (document.get("config") or {}).get("gen_kwargs") or {}
    generation = {**(config.get("generation_kwargs") or {}), **(given if isinstance(given, Mapping) else {})}
    head = ForeignHead(
        form=FORM,
        identity=[
            document.get("date"),
            task,
            document.get("model_name"),
            (document.get("task_hashes") or {}).get(task),
        ],
        benchmark=f"lm-eval/{task}",
        title=str(document["results"][task].get("alias") or task).strip(" -"),
        version=str((document.get("versions") or {}).get(task) or ""),
        content=[FORM, task, (document.get("versions") or {}).get(task), shots, config.get("dataset_name")],
        model=model_of(document),
        agent="lm-eval",
        temperature=generation.get("temperature") if _is_number(generation.get("temperature")) else None,
        max_tokens=generation.get("max_gen_toks") if isinstance(generation.get("max_gen_toks"), int) else None,
        created_at=at,
        started_at=at,
        ended_at=at + (spent or 0.0),
        planned=counted if isinstance(counted, int) else None,
        headline={name: value for name, value in stated.items() if name != "sample_len"},
        provenance={
            "lm_eval": {
                name: document[name]
                for name in ("lm_eval_version", "git_hash", "chat_template_sha", "system_instruction_sha")
                if document.get(name)
            }
            | ({"num_fewshot": shots} if shots is not None else {})
        },
    )
    file = samples_of(path, task)
    rows = partial(_samples, file, head, redactor)
    declare = partial(_declare, stated=stated, config=config, higher=higher)
    found = assemble(head, rows, file, redactor, declare)
    if not head.metrics:
        found.run.metrics = tuple(_as_imported(head.headline, higher, len(found.episodes)))
    return found


def model_of(document: Mapping[str, Any]) -> str:
    """Return the model of results as `KIND/NAME`."""
    config = document.get("config") or {}
    kind = str(document.get("model_source") or config.get("model") or "lm-eval")
    args = config.get("model_args")
    if isinstance(args, str):
        args = dict(part.split("=", 1) for part in args.split(",") if "=" in part)
    args = args if isinstance(args, Mapping) else {}
    name = args.get("pretrained") or args.get("model") or document.get("model_name")
    return f"{kind}/{name}" if name else f"{kind}/unknown"


def _samples(file: Path, head: ForeignHead, redactor: Redactor) -> Iterator[ForeignSample]:
    """Yield one sample for each document, with the values of all its filters."""
    rows: dict[Any, list[JSON]] = {}
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    row = _row(file, number, line)
                    rows.setdefault(row["doc_id"], []).append(row)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    for doc_id, found in rows.items():
        try:
            yield _sample(str(doc_id), found, head, redactor)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{file}: document {doc_id} is no sample of lm-eval ({error!r}); nothing was imported"
            ) from error


def _row(file: Path, number: int, line: bytes) -> JSON:
    try:
        row = read_foreign_json(line)
    except ValueError as error:
        raise UsageError(
            f"{file}, line {number} is not whole JSON: {error}; the file was cut off; nothing was imported"
        ) from error
    if not isinstance(row, dict) or "doc_id" not in row:
        raise UsageError(f"{file}, line {number} is no sample of lm-eval: it has no `doc_id`; nothing was imported")
    return row


def _sample(doc_id: str, rows: Sequence[JSON], head: ForeignHead, redactor: Redactor) -> ForeignSample:
    first = rows[0]
    trace = TraceWriter(redactor, head.created_at)
    trace.event(Kind.EPISODE_START, {"task": doc_id, "trial": 0})
    _record(trace, first, head.model)
    answer = _answer(first)
    trace.event(Kind.EPISODE_END, {"status": "completed", "steps": trace.step, "total_reward": 0.0})
    scores = [
        score
        for row in rows
        for name in row.get("metrics") or ()
        if (score := _score(named(str(name), str(row.get("filter") or "none")), row.get(name))) is not None
    ]
    return ForeignSample(
        task=Task(doc_id, input=first.get("doc"), target=first.get("target")),
        started_at=head.created_at,
        ended_at=head.ended_at,
        scores=scores,
        usage=Usage(cost_usd=None, calls=len(first.get("resps") or ())),
        steps=trace.step,
        answer=answer,
        facts={
            "filtered": {str(row.get("filter") or "none"): row.get("filtered_resps") for row in rows},
            **{name: first[name] for name in ("doc_hash", "prompt_hash", "target_hash") if first.get(name)},
        },
        trace=trace,
    )


def named(metric: str, rule: str) -> str:
    """Return the name of a metric under a filter, as lm-eval writes it; without the filter where there is none."""
    return metric if rule == "none" else f"{metric},{rule}"


def _score(name: str, value: Any) -> Score | None:
    """Return a value as a score; None for what only all documents together give a number for, such as a perplexity."""
    if value is None:
        return Score(name, missing=Cause.VALUE_MISSING)
    if isinstance(value, bool | int | float):
        return Score(name, float(value)) if math.isfinite(value) else Score(name, missing=Cause.VALUE_UNUSABLE)
    return None


def _record(trace: TraceWriter, row: Mapping[str, Any], model: str) -> None:
    """Record the requests of a document: generations as calls, log-likelihoods as notes below their context."""
    arguments = list((row.get("arguments") or {}).values()) if isinstance(row.get("arguments"), Mapping) else []
    for request, replies in zip(arguments, row.get("resps") or (), strict=False):
        context, more = request.get("arg_0"), request.get("arg_1")
        asked = trace.message({"role": "user", "content": str(context)})
        for reply in replies if isinstance(replies, list) else [replies]:
            if isinstance(more, Mapping):
                limits = {name: more[name] for name in ("temperature",) if name in more}
                limits |= {"stop": more["until"]} if "until" in more else {}
                trace.call(model, [asked], {"content": str(reply)}, request=limits or None)
            elif isinstance(reply, list):
                greedy = ", greedy" if str(reply[1:2]).find("True") >= 0 else ""
                trace.event(Kind.LOG, {"message": f"log-likelihood of {more!r}: {reply[0]}{greedy}"})
            else:
                trace.event(Kind.LOG, {"message": f"log-likelihood: {reply}"})


def _answer(row: Mapping[str, Any]) -> Any:
    """Return what was graded: the filtered reply, or the most likely of several continuations."""
    filtered: Sequence[Any] = row.get("filtered_resps") or ()
    arguments = row.get("arguments") or {}
    pairs = [one for one in filtered if isinstance(one, list) and one and _parsed(one[0]) is not None]
    if len(pairs) > 1 and len(pairs) == len(arguments):
        best = max(range(len(pairs)), key=lambda place: _parsed(pairs[place][0]) or 0.0)
        return list(arguments.values())[best].get("arg_1")
    return filtered[0] if len(filtered) == 1 else list(filtered) or None


def _declare(
    head: ForeignHead,
    episodes: Sequence[Episode],
    *,
    stated: Mapping[str, float],
    config: Mapping[str, Any],
    higher: Mapping[str, Any],
) -> None:
    names = list(dict.fromkeys(score.name for episode in episodes for score in episode.scores))
    listed = [str(one.get("metric")) for one in config.get("metric_list") or () if isinstance(one, Mapping)]
    metrics = []
    for place, name in enumerate(names):
        plain = name.partition(",")[0]
        bounds = (0.0, 1.0) if plain in _SHARES else (None, None)
        better = bool(higher.get(plain, True))
        metrics.append(
            Metric(
                name,
                name,
                low=bounds[0],
                high=bounds[1],
                higher_is_better=better,
                primary=not place,
                directed=plain in higher,
            )
        )
    head.metrics = tuple(metrics)
    for episode in episodes:
        known = {score.name for score in episode.scores}
        lacking = (Score(name, missing=Cause.VALUE_MISSING) for name in names if name not in known)
        episode.scores = (*episode.scores, *lacking)
    given = {name.partition(",")[0] for name in stated if "_stderr" not in name}
    whole = [name for name in listed or given if name in given and name not in {one.partition(",")[0] for one in names}]
    if whole and metrics:
        head.warnings += (
            f"{', '.join(whole)} is computed from all documents at once, so only the number in the file is known",
        )


def _as_imported(stated: Mapping[str, float], higher: Mapping[str, Any], episodes: int) -> Iterator[MetricResult]:
    names = [name for name in stated if "_stderr" not in name]
    for name in names:
        metric, _, rule = name.partition(",")
        yield stated_metric(
            named(metric, rule or "none"),
            stated[name],
            episodes,
            primary=name == names[0],
            higher_is_better=bool(higher.get(metric, True)),
        )


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _parsed(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
