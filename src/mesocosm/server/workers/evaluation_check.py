"""Read the folder of a run of osmosis-ai and write it as a bundle of ours, from which every number is computed again.

`python -m mesocosm.server.workers.evaluation_check FOLDER BUNDLE RUN MIB` prints what is wrong with it, a list of
problems as JSON. It is another process because the files are foreign. FOLDER has `evaluation.json`, a LocalEvaluation,
and the files below `files`.

Of the results only what was recorded for each sample counts: reward, status, tokens, conversation. A failure of the
workflow is the agent's; others leave the sample without a value.
"""

import json
import math
import os
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import RULES, Cause, Failure, MesocosmError, Problem, UsageError
from mesocosm.core.foreign import LARGEST
from mesocosm.core.ids import digest, digest_bytes
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Counts, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import Score
from mesocosm.core.signature import signature
from mesocosm.core.task import ROW
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.interop.bundle import write_bundle
from mesocosm.rollouts.benchmark import KIND, METRICS, REWARD, GradingTerms, metrics
from mesocosm.store import open_store
from mesocosm.store.blobs import Artifact
from mesocosm.store.bundle import StoredRun
from mesocosm.store.objects import URL_VARIABLE
from mesocosm.store.run_imports import LocalEvaluation

__all__ = ["convert"]

MOST_BYTES = 8 << 30
_CHUNK = 200
_FIX = "upload it with `osmosis eval upload` from the folder in which it was run"
_CAUSES = {
    "timeout": Cause.WORKFLOW_TIMEOUT,
    "validation_error": Cause.WORKFLOW_INVALID,
    "agent_error": Cause.WORKFLOW_FAILED,
    "grader_timeout": Cause.GRADER_TIMEOUT,
    "grader_error": Cause.GRADER_ERROR,
    **dict.fromkeys(
        ("lease_expired", "internal_error", "rollout_failed", "rollout_protocol_error"), Cause.PROGRAM_FAILED
    ),
    "http_error": Cause.PROGRAM_FAILED,
}
"""Causes by `error_type`; any other word is the message of an exception of the workflow."""

JSON = dict[str, Any]


class IndexLine(msgspec.Struct, frozen=True):
    """A line of index.jsonl: one attempt at a row."""

    row_index: int
    run_index: int
    rollout_id: str
    status: str
    reward: float | None = None
    tokens: int = 0
    duration_ms: float = 0.0
    error_type: str | None = None
    trajectory_filename: str | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    """The conversation of an attempt: messages in OpenAI's format, usage of each reply, and what was recorded of it."""

    messages: Sequence[JSON]
    usages: Sequence[Usage]
    extra: Mapping[str, Any]


_NOTHING_SAID = _Said((), (), {})
_lines = msgspec.json.Decoder(IndexLine)


def convert(folder: Path, bundle: Path, run_id: str) -> None:
    """Write the bundle of the run in a folder. Raises UsageError."""
    about = msgspec.json.decode((folder / "evaluation.json").read_bytes(), type=LocalEvaluation)
    run = _ConvertedRun(folder / "files", about, run_id)
    # A store computes the checksums that a bundle needs.
    with closing(open_store(folder / "converted.sqlite")) as store:
        store.bundles.insert(run.record, run.entries(), run.blobs(), list(run.artifacts()))
        with bundle.open("wb") as file:
            write_bundle(file, [StoredRun(store.database, store.runs.get(run_id))])


class _ConvertedRun:
    """The run with everything that belongs to it."""

    def __init__(self, files: Path, about: LocalEvaluation, run_id: str) -> None:
        self._files = files
        self._about = about
        self._id = run_id
        self._sources = _sources(about.rows)
        self._index = sorted(self._read_index(), key=lambda one: (one.run_index, one.row_index))
        self._rows = len({one.row_index for one in self._index})
        self._check()
        self.record = self._record()

    def entries(self) -> Iterator[Entry]:
        """Yield the attempts with their traces."""
        for line in self._index:
            said = self._said(line)
            episode, events = self._episode(line, said)
            yield Entry(episode, list(_chunks(events)))

    def artifacts(self) -> Iterator[Artifact]:
        """Yield the files that the attempts left."""
        for line in self._index:
            for path in self._left(line):
                name = path.relative_to(self._trial(line) / "artifacts").as_posix()
                yield Artifact(
                    digest([line.rollout_id, name]),
                    self._id,
                    name,
                    digest_bytes(path.read_bytes()),
                    self._about.completed_at,
                    line.rollout_id,
                )

    def blobs(self) -> Iterator[Blob]:
        """Yield the contents of these files, each once."""
        seen = set[str]()
        for line in self._index:
            for path in self._left(line):
                data = path.read_bytes()
                found = digest_bytes(data)
                if found not in seen:
                    seen.add(found)
                    yield Blob(found, "application/octet-stream", data)

    def _trial(self, line: IndexLine) -> Path:
        return self._files / "rollout_trials" / line.rollout_id

    def _left(self, line: IndexLine) -> Iterator[Path]:
        return (path for path in sorted((self._trial(line) / "artifacts").rglob("*")) if path.is_file())

    def _read_index(self) -> Iterator[IndexLine]:
        with (self._files / "index.jsonl").open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = _lines.decode(raw)
                except (msgspec.MsgspecError, ValueError) as error:
                    raise UsageError(f"index.jsonl, line {number}: {error}") from error
                if not (len(line.rollout_id) == 32 and set(line.rollout_id) <= set("0123456789abcdef")):
                    raise UsageError(f"index.jsonl, line {number}: {line.rollout_id[:100]!r} is no id of a rollout")
                if line.status not in ("success", "failed", "skipped"):
                    raise UsageError(f"index.jsonl, line {number}: {line.status[:100]!r} is no status of an attempt")
                if line.reward is not None and not abs(line.reward) <= LARGEST:
                    raise UsageError(f"index.jsonl, line {number}: the reward {line.reward} is larger than one can be")
                if not (0 <= line.tokens <= 2**53 and math.isfinite(line.duration_ms) and line.duration_ms >= 0):
                    raise UsageError(f"index.jsonl, line {number}: tokens or duration are no counts")
                yield line

    def _check(self) -> None:
        """Raise UsageError unless every selected row has each of its attempts once."""
        n = self._about.n
        keys = Counter((one.row_index, one.run_index) for one in self._index)
        wanted = {(row, run) for row in range(self._rows) for run in range(n)} if len(self._index) <= 10**7 else set()
        if keys.keys() != wanted or len(keys) != len(self._index):
            raise UsageError(
                f"index.jsonl has {len(self._index):,} attempts, and not {n} of each of {self._rows:,} rows"
            )
        if len({one.rollout_id for one in self._index}) < len(self._index):
            raise UsageError("index.jsonl names one rollout for two attempts")
        if self._rows > len(self._sources):
            raise UsageError(f"index.jsonl has {self._rows:,} rows, and {len(self._sources):,} were selected")

    def _record(self) -> Run:
        about = self._about
        terms = GradingTerms(pass_threshold=about.pass_threshold)
        content = digest([about.dataset_digest, about.rows])
        inputs = {"rollout source": about.source, "entrypoint": about.entrypoint, "dataset": about.dataset_digest}
        card = {"rollout": about.rollout, "entrypoint": about.entrypoint, "dataset": about.dataset}
        measured = digest([content, about.source])
        info = BenchmarkInfo(
            id=about.dataset,
            title=about.dataset,
            version="1",
            digest=measured,
            kind=KIND,
            metrics=metrics(terms),
            description=f"rows {about.rows}",
            card={**card, "pass_threshold": about.pass_threshold},
            judged=True,
            discovers=True,
            inputs={name: value for name, value in inputs.items() if value},
        )
        spec = RunSpec(
            BenchmarkRef(KIND, about.rollout, {"entrypoint": about.entrypoint, "dataset": about.dataset}),
            ModelSettings(about.model),
            agent=AgentSettings("program", label=about.rollout),
            selection=Selection(trials=about.n),
            name=about.name,
        )
        episodes = [self._episode(line, self._said(line))[0] for line in self._index]
        statuses = Counter(one.status for one in episodes)
        return Run(
            id=self._id,
            signature=signature(spec, about.dataset, digest([measured, info.inputs])),
            benchmark=about.dataset,
            benchmark_title=about.dataset,
            benchmark_version="1",
            benchmark_digest=measured,
            kind=KIND,
            model=about.model,
            agent=about.rollout,
            spec=spec,
            name=about.name,
            status=RunStatus.FINISHED,
            counts=Counts(
                planned=len(episodes),
                completed=statuses[EpisodeStatus.COMPLETED],
                failed=statuses[EpisodeStatus.FAILED],
            ),
            usage=sum((one.usage for one in episodes), NOTHING),
            created_at=about.started_at,
            started_at=about.started_at,
            ended_at=about.completed_at,
            info=msgspec.to_builtins(info),
            provenance={"osmosis_ai": about.sdk, "worked_s": max(about.completed_at - about.started_at, 0.0)},
        )

    def _said(self, line: IndexLine) -> _Said:
        name = line.trajectory_filename
        if name is None or Path(name).name != name:
            return _NOTHING_SAID
        file = self._trial(line) / name
        try:
            document = json.loads(file.read_bytes())
            return _conversation(document)
        except FileNotFoundError:
            return _NOTHING_SAID
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
            words = f"{type(error).__name__}: {error}"
            raise UsageError(f"the trajectory of rollout {line.rollout_id} cannot be read: {words}"[:1_000]) from error

    def _episode(self, line: IndexLine, said: _Said) -> tuple[Episode, list[Event]]:
        about, source = self._about, self._sources[line.row_index]
        failed = line.status == "failed" and line.reward is None
        failure = _failure(line) if failed else None
        usage = _whole(said.usages, line.tokens)
        info: JSON = {ROW: source}
        if line.reward is not None:
            info[REWARD] = line.reward
        sampled = said.extra.get("sample_metrics")
        found = {} if failed or not isinstance(sampled, dict) else sampled
        values = {name: value for name, value in found.items() if _usable(value)}
        if values:
            info[METRICS] = values
        if failure is not None:
            info["error"] = failure.message
        status = EpisodeStatus.FAILED if failed else EpisodeStatus.COMPLETED
        steps, total = int(not failed), 0.0 if failed else line.reward or 0.0
        end = about.started_at + line.duration_ms / 1_000
        episode = Episode(
            id=line.rollout_id,
            run_id=self._id,
            task_digest=digest([about.dataset_digest, source]),
            task_id=str(source),
            trial=line.run_index,
            index=line.run_index * self._rows + line.row_index,
            status=status,
            started_at=about.started_at,
            ended_at=end,
            steps=steps,
            total_reward=total,
            terminal_info={**info, "total_tokens": usage.total},
            failure=failure,
            usage=usage,
            scores=(_reward(line, failure), *(Score(name, float(value)) for name, value in values.items())),
        )
        events = list(_events(episode, said, about.model))
        return msgspec.structs.replace(episode, events=len(events)), events


def _sources(rows: str) -> list[int]:
    """Return the indices in the dataset of the selected rows. Raises UsageError if there are too many."""
    found: list[int] = []
    for part in rows.split(",") if rows else []:
        first, _, last = part.partition("-")
        more = range(int(first), int(last or first) + 1)
        if len(found) + len(more) > 1_000_000:
            raise UsageError("more than 1,000,000 rows were selected")
        found += more
    return found


def _failure(line: IndexLine) -> Failure:
    said = line.error_type or "rollout_failed"
    cause = _CAUSES.get(said, Cause.WORKFLOW_FAILED)
    return Failure(cause, RULES[cause].boundary, said[:2_000])


def _reward(line: IndexLine, failure: Failure | None) -> Score:
    if failure is not None:
        if RULES[failure.cause].valid:
            return Score(REWARD, worst=True)
        return Score(REWARD, missing=failure.cause)
    if line.status == "skipped" or line.reward is None:
        return Score(REWARD, missing=Cause.SKIPPED if line.status == "skipped" else Cause.VALUE_MISSING)
    return Score(REWARD, line.reward)


def _usable(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _conversation(document: Any) -> _Said:
    """Return the messages of a trajectory, without what only its format has."""
    messages: list[JSON] = []
    usages: list[Usage] = []
    for step in document["steps"]:
        source = step["source"]
        if source != "agent":
            messages.append({"role": source, "content": _text(step["message"])})
            continue
        message: JSON = {"role": "assistant", "content": _text(step["message"])}
        if step.get("reasoning_content"):
            message["reasoning_content"] = str(step["reasoning_content"])
        calls = [_call(one) for one in step.get("tool_calls") or ()]
        if calls:
            message["tool_calls"] = calls
        messages.append(message)
        for result in (step.get("observation") or {}).get("results") or ():
            answered = {"role": "tool", "content": _text(result.get("content") or "")}
            messages.append({**answered, "tool_call_id": str(result.get("source_call_id") or "")})
        usages.append(_usage(step.get("metrics") or {}))
    extra = (document.get("extra") or {}).get("osmosis")
    return _Said(messages, usages, extra if isinstance(extra, dict) else {})


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


def _call(call: JSON) -> JSON:
    function = {"name": str(call["function_name"]), "arguments": json.dumps(call.get("arguments") or {})}
    return {"id": str(call["tool_call_id"]), "type": "function", "function": function}


def _usage(found: JSON) -> Usage:
    cost = found.get("cost_usd")
    return Usage(
        prompt=int(found.get("prompt_tokens") or 0),
        completion=int(found.get("completion_tokens") or 0),
        cached=int(found.get("cached_tokens") or 0),
        cost_usd=None if cost is None else float(cost),
        calls=1,
    )


def _whole(usages: Sequence[Usage], tokens: int) -> Usage:
    """Return the usage of an attempt. Tokens that no reply has are not told apart, and count as those of prompts."""
    found = sum(usages, NOTHING)
    more = max(tokens - found.total, 0)
    cost = None if more and not usages else found.cost_usd
    return msgspec.structs.replace(found, prompt=found.prompt + more, cost_usd=cost)


def _events(episode: Episode, said: _Said, model: str) -> Iterator[Event]:
    """Yield the trace of an attempt."""
    first = next((place for place, one in enumerate(said.messages) if one["role"] == "assistant"), len(said.messages))
    listed: list[tuple[int, Kind, Any]] = [
        (0, Kind.EPISODE_START, {"seed": None, "task": episode.task_id, "trial": episode.trial}),
        (0, Kind.OBSERVATION, {"data": {"prompt": list(said.messages[:first])}}),
    ]
    listed += _model_calls(episode, said, model)
    if episode.failure is not None:
        listed.append((1, Kind.ERROR, episode.failure))
    else:
        info = episode.terminal_info
        step = {"reward": episode.total_reward, "terminated": True, "truncated": False, "info": info}
        listed.append((1, Kind.STEP_RESULT, step))
        shown = {"messages": list(said.messages), "label": said.extra.get("label")}
        listed.append((1, Kind.OBSERVATION, {"data": shown}))
    total = episode.usage.total
    end = {"total_reward": episode.total_reward, "steps": episode.steps, "status": episode.status.value}
    listed.append((1, Kind.EPISODE_END, {**end, "terminal_info": episode.terminal_info, "total_tokens": total}))
    for seq, (step_number, kind, payload) in enumerate(listed):
        yield Event(seq, step_number, episode.started_at, kind, payload)


def _model_calls(episode: Episode, said: _Said, model: str) -> Iterator[tuple[int, Kind, Any]]:
    """Yield the messages and replies. The last reply has what the others do not account for."""
    left = episode.usage
    asked, replies = 0, [place for place, one in enumerate(said.messages) if one["role"] == "assistant"]
    for number, place in enumerate(replies):
        for index in range(asked, place):
            yield 1, Kind.MESSAGE, {"index": index, **said.messages[index]}
        own = said.usages[number]
        usage = left if number == len(replies) - 1 else own
        left = _minus(left, own)
        answer = said.messages[place]
        told = {name: answer[name] for name in ("tool_calls",) if name in answer}
        if "reasoning_content" in answer:
            told["reasoning"] = answer["reasoning_content"]
        call = {"model": model, "messages": [[0, place - 1]] if place else [], "text": answer["content"], **told}
        yield 1, Kind.MODEL_CALL, {**call, "usage": msgspec.to_builtins(usage)}
        yield 1, Kind.MESSAGE, {"index": place, **answer}
        asked = place + 1
    if not replies and episode.usage.total:
        usage = msgspec.to_builtins(episode.usage)
        yield 1, Kind.MODEL_CALL, {"model": model, "messages": [], "text": "", "usage": usage}


def _minus(whole: Usage, part: Usage) -> Usage:
    cost = None if whole.cost_usd is None or part.cost_usd is None else whole.cost_usd - part.cost_usd
    return Usage(
        prompt=whole.prompt - part.prompt,
        completion=whole.completion - part.completion,
        cached=whole.cached - part.cached,
        reasoning=whole.reasoning - part.reasoning,
        cost_usd=cost,
        calls=whole.calls - part.calls,
    )


def _chunks(events: Sequence[Event]) -> Iterator[Chunk]:
    for number, first in enumerate(range(0, len(events), _CHUNK)):
        some = events[first : first + _CHUNK]
        raw = b"".join(msgspec.json.encode(one) + b"\n" for one in some)
        yield Chunk(number, first, first + len(some) - 1, some[0].step, some[-1].step, raw)


def _main(folder: str, bundle: str, run_id: str, mib: str) -> int:
    limit = int(mib) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    os.environ.pop(URL_VARIABLE, None)
    problems: list[Problem] = []
    try:
        convert(Path(folder), Path(bundle), run_id)
    except MemoryError:
        problems = [Problem("", f"it needs more than {mib} MiB of memory to be read", "leave large files out")]
    except (MesocosmError, msgspec.MsgspecError, ValueError, OverflowError, RecursionError, OSError) as error:
        problems = [Problem("", str(error).replace(folder, "…")[:2_000], _FIX)]
    sys.stdout.buffer.write(msgspec.json.encode(problems))
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
