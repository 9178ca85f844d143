"""`replay/FILE`: a model that repeats recorded completions."""

from collections.abc import Iterator, Sequence
from typing import Any

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.folder import from_home
from mesocosm.core.model import EpisodeView, ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.usage import Usage
from mesocosm.models.inprocess import InProcessModel, answering_from, json_text
from mesocosm.models.recording import RecordedCompletion, Recording, read_recording

_FREE = Usage(calls=1, cost_usd=0.0)


def open_model(settings: ModelSettings) -> Model:
    """Return the model that replays a file, which is read here. Raises UsageError if it is unusable."""
    name = ModelName.parse(settings.name)
    if name.base_url:
        raise UsageError("replay reads a file and takes no base URL; leave out what follows the @")
    path = from_home(name.model)
    recording = read_recording(path)
    full = f"replay/{name.model}"

    async def answer(request: ModelRequest) -> ModelReply:
        record = recorded(recording, request)
        return ModelReply(record.text, record.reasoning, usage=_FREE, model=full)

    return InProcessModel(full, answer, answering_from(path))


def recorded(recording: Recording, request: ModelRequest) -> RecordedCompletion:
    """Return the record that belongs to a request.

    If a task has one completion per trial, return that of the trial; a single completion serves every trial. Raises
    EpisodeError if the file has nothing for this task, trial or step.
    """
    view = request.view or EpisodeView(None, "", request.trial, 0)
    found = recording.find(view.seed, view.task or None, list(_prompts(request)), view.row)
    if not found:
        raise _missing(
            recording, view, f"no completion for {_task(view)} ({recording.count} others{_from_one(recording)})"
        )
    if any(record.step is not None for record in found):
        return _of_step(recording, view, found)
    if view.step > 0:
        raise _missing(recording, view, f"only one completion for {_task(view)}, but the episode takes a second step")
    return _of_trial(recording, view, found)


def _of_step(recording: Recording, view: EpisodeView, found: Sequence[RecordedCompletion]) -> RecordedCompletion:
    here = [record for record in found if record.step == view.step]
    if not here:
        last = max(record.step for record in found if record.step is not None) + 1
        what = f"{last} steps for {_task(view)}, but the episode goes on to step {view.step + 1}"
        raise _missing(recording, view, what)
    return _of_trial(recording, view, here)


def _of_trial(recording: Recording, view: EpisodeView, found: Sequence[RecordedCompletion]) -> RecordedCompletion:
    if len(found) == 1:
        return found[0]
    here = [record for record in found if record.trial == view.trial]
    if len(here) > 1:
        raise _missing(recording, view, f"{len(here)} completions for trial {view.trial} of {_task(view)}; keep one")
    if here:
        return here[0]
    if view.trial < len(found) and all(record.trial is None for record in found):
        return found[view.trial]
    raise _missing(recording, view, f"{len(found)} completions for {_task(view)}, none for trial {view.trial + 1}")


def _missing(recording: Recording, view: EpisodeView, what: str) -> EpisodeError:
    return EpisodeError(
        Cause.MODEL_REJECTED,
        f"replay: {recording.path} has {what}; record it, or run only the tasks that the file has",
        detail=f"seed {view.seed}, task {view.task!r}, trial {view.trial}, step {view.step}",
    )


def _task(view: EpisodeView) -> str:
    if view.seed is not None:
        return f"seed {view.seed}"
    return f"task {view.task!r}" if view.row is None else f"row {view.row}, task {view.task!r}"


def _from_one(recording: Recording) -> str:
    """Return a remark if the rows of a recording seem to be counted from 1."""
    return ", numbered from 1, but rows count from 0" if recording.by_row and min(recording.by_row) == 1 else ""


def _prompts(request: ModelRequest) -> Iterator[str]:
    """Yield the texts that may contain the question, the likeliest one first."""
    view = request.view
    for shown in (view.input, view.observation) if view is not None else ():
        if shown is not None:
            yield from _texts(shown)
    asked = [message.text for message in request.messages if message.role == "user"]
    yield from reversed(asked)
    yield "\n".join(message.text for message in request.messages)


def _texts(shown: Any) -> Iterator[str]:
    if isinstance(shown, str):
        yield shown
        return
    if isinstance(shown, dict):
        yield from (value for value in shown.values() if isinstance(value, str))
    yield json_text(shown)
