"""Tasks of Inspect: one evaluation a process, to which each episode adds its sample.

The evaluation's dataset is a `SampleSource`, so that samples start when the host wants them, and as often as it wants
them. Calls of the model go to the address of the episode whose sample makes them.
"""

import asyncio
import contextvars
import math
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import Failed, Tell, digest, versions
from .inspect_catalogue import Fields, entries, package_of, points
from .inspect_loading import (
    InspectTask,
    code,
    described_as,
    distributions,
    full_name,
    labels,
    load,
    needs,
    version,
    without_tasks,
)
from .inspect_original import original
from .inspect_outcomes import ended, first_line, trace

PROVIDER = "mesocosm"
"""Provider of the models of a run: `mesocosm/NAME`, and `mesocosm/judge` for the model of the graders."""
JUDGE = "judge"
_UNBOUNDED = 100_000
_JUDGING = ("grader", "judge", "judger", "rater", "evaluator", "scorer")
"""A role is one of the graders if its name ends with one of these."""
_REPEAT = 1_000_000
"""Is added to the epoch of a sample that is played again: a pair of sample and epoch runs once."""


@dataclass
class InspectEpisode:
    """One episode: what the host asked, and the future of its outcome."""

    tell: Tell
    model: Mapping[str, Any]
    judge: Mapping[str, Any] | None
    place: int
    outcome: asyncio.Future[Any]
    scoring: bool = False


class InspectTasks:
    """Speaks for Inspect. See mesocosm.guests.messages for the words."""

    def __init__(self) -> None:
        self._loaded: InspectTask | None = None
        self._playing: dict[tuple[str, int], InspectEpisode] = {}
        self._started: Counter[tuple[str, int]] = Counter()
        self._evaluation: asyncio.Task[Any] | None = None
        self._add: Any = None
        self._taking = asyncio.Event()
        self._why = ""
        self._folder = tempfile.TemporaryDirectory(prefix="mesocosm-inspect-")

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> Fields:
        """Load a task."""
        self._prepare()
        loaded = self._loaded = load(source, dict(args))
        task = loaded.task
        packages = versions("inspect_ai", *distributions(source))
        title, description = described_as(source, task)
        return {
            "id": f"inspect/{full_name(source, task)}",
            "title": title,
            "version": version(task, packages),
            "digest": digest(full_name(source, task), dict(args), packages, code(source), loaded.contents),
            "tasks": len(loaded.samples),
            "metrics": loaded.metrics,
            "packages": packages,
            "needs": needs(loaded),
            # Any scorer may ask a model, and none says so.
            "judged": True,
            "trials": task.epochs or 1,
            "discovers": True,
            "description": description,
            "card": {
                "scorers": loaded.scorers,
                "roles": loaded.roles,
                "dataset": task.dataset.name,
            },
        }

    def tasks(self, **_: Any) -> Iterator[Fields]:
        """Yield the samples in the order of the dataset."""
        loaded = self._known()
        grouped = labels(loaded.samples)
        seen: set[str] = set()
        for place, (sample, content) in enumerate(zip(loaded.samples, loaded.contents, strict=True)):
            shown: Any = content["input"]
            asked = digest(shown, content.get("choices"), content.get("target"))
            if sample.choices:
                shown = {"input": shown, "choices": content["choices"]}
            if asked in seen:
                # What makes it another problem is in metadata or files, which solvers read.
                shown = {**(shown if sample.choices else {"input": shown}), "sample": str(sample.id)}
            seen.add(asked)
            told: Fields = {"id": str(sample.id), "place": place, "input": shown, "labels": grouped[place]}
            told["target"] = content.get("target") or None
            if sample.metadata:
                told["metadata"] = content["metadata"]
            yield {"task": told}

    async def play(
        self,
        tell: Tell,
        place: int,
        trial: int,
        base_url: str,
        key: str,
        model: str,
        judge: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        **_: Any,
    ) -> Fields:
        """Run one sample to its end, with its scores."""
        loaded = self._known()
        sample = loaded.samples[place]
        await self._running(model, seconds)
        name = (str(sample.id), trial + 1)
        repeats = self._started[name]
        self._started[name] += 1
        epoch = trial + 1 + repeats * _REPEAT
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        reached = {"base_url": base_url, "key": key, "model": model}
        play = InspectEpisode(tell, reached, judge, place, outcome)
        self._playing[str(sample.id), epoch] = play
        try:
            self._add(sample, epoch)
            return ended(await outcome, loaded)
        except asyncio.CancelledError:
            _interrupt(str(sample.id), epoch)
            raise
        finally:
            del self._playing[str(sample.id), epoch]

    async def original(
        self, tell: Tell, base_url: str, key: str, model: str, limit: int | None = None, trials: int = 1, **_: Any
    ) -> None:
        """Play the first `limit` samples with Inspect's own runner."""
        for sample in await original(self._known(), base_url, key, model, limit, trials):
            tell.event(sample)

    def catalogue(self, **_: Any) -> Iterator[Fields]:
        """Yield every task of the installed packages; none of them is imported."""
        for package in sorted({package_of(point) for point in points()}):
            for entry in entries(package):
                yield {"entry": entry}

    def playing(self) -> InspectEpisode | None:
        """Return the episode of the sample that is calling."""
        from inspect_ai.log._samples import sample_active

        active = sample_active()
        if active is None or self._loaded is None:
            return None
        return self._playing.get((str(active.sample.id), active.epoch))

    def _known(self) -> InspectTask:
        if self._loaded is None:
            raise Failed("no task is loaded", "environment_invalid")
        return self._loaded

    def _prepare(self) -> None:
        """Set what Inspect reads when it is imported, and register the model of the run."""
        scratch = Path(self._folder.name)
        os.environ |= {
            "INSPECT_DISPLAY": "none",
            "INSPECT_LOG_DIR": str(scratch / "logs"),
            # A reply from a cache would be a call that nobody records.
            "INSPECT_CACHE_DIR": str(scratch / "cache"),
            # Some tasks ask for their model while they are made.
            "INSPECT_EVAL_MODEL": f"{PROVIDER}/model",
        }
        # The end of its connection ends this process, with what Inspect has to clean up.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Datasets are shuffled with the global generator; a guest that is started again needs the same order.
        random.seed(0)
        with without_tasks():
            _register(self)

    async def _running(self, model: str, seconds: float | None) -> None:
        """Start the evaluation if none is running, and wait until it takes samples."""
        if self._evaluation is None or self._evaluation.done():
            loaded = self._known()
            self._started.clear()
            self._taking.clear()
            self._evaluation = asyncio.get_running_loop().create_task(self._evaluate(loaded, model, seconds))
        await self._taking.wait()
        if self._add is None:
            raise Failed(self._why)

    async def _evaluate(self, loaded: InspectTask, model: str, seconds: float | None) -> None:
        from inspect_ai import SampleSource, enqueue_sample, eval_async, task_with
        from inspect_ai.model import get_model

        guest = self

        class Wanted(SampleSource):  # type: ignore[misc]
            """The samples that the host asks for."""

            def __init__(self) -> None:
                self._woken = asyncio.Event()

            async def next_samples(self) -> list[Any]:
                """Wait until a sample is wanted. Samples are enqueued in the context of the evaluation."""
                context = contextvars.copy_context()

                def add(sample: Any, epoch: int) -> None:
                    context.run(enqueue_sample, sample, epoch=epoch)
                    self._woken.set()

                self._woken.clear()
                guest._add = add
                guest._taking.set()
                await self._woken.wait()
                return []

        judge = get_model(f"{PROVIDER}/{model}", judging=True)
        asked = get_model(f"{PROVIDER}/{model}")
        roles = {role: judge if role.endswith(_JUDGING) else asked for role in loaded.roles}
        limits = dict(loaded.limits)
        if seconds is not None:
            own = limits.get("time_limit") or loaded.task.time_limit or math.inf
            limits["time_limit"] = max(1, math.ceil(min(own, seconds)))
        task = task_with(loaded.task, dataset=Wanted(), model=asked, early_stopping=None)
        failed: BaseException | None = None
        try:
            logs = await eval_async(
                task,
                model=asked,
                model_roles=roles,
                sandbox=loaded.sandbox or None,
                epochs=1,
                max_samples=_UNBOUNDED,
                max_connections=_UNBOUNDED,
                adaptive_connections=False,
                fail_on_error=False,
                log_dir=os.environ["INSPECT_LOG_DIR"],
                log_level="warning",
                log_samples=False,
                log_realtime=False,
                score_display=False,
                ctl_server=False,
                acp_server=False,
                **limits,
            )
            if logs and logs[0].error is not None:
                failed = RuntimeError(logs[0].error.message)
                print(logs[0].error.traceback, file=sys.stderr)
        except Exception as error:  # noqa: BLE001 -- foreign code
            failed = error
            traceback.print_exc()
        finally:
            self._add = None
            self._why = "Inspect ended the evaluation" + (f": {first_line(str(failed))}" if failed else "")
            self._taking.set()
            for play in self._playing.values():
                if not play.outcome.done():
                    play.outcome.set_exception(Failed(self._why))


def framework() -> InspectTasks:
    """Return what speaks for Inspect."""
    return InspectTasks()


def _register(guest: InspectTasks) -> None:
    """Register the provider of the run's models, and the hooks."""
    from inspect_ai.hooks import hooks
    from inspect_ai.model import modelapi

    recorded = _recorded(guest)

    def provider() -> Any:
        return recorded

    modelapi(name=PROVIDER)(provider)
    hooks(name=PROVIDER, description="Passes events and outcomes of samples on.")(_watching(guest))


def _recorded(guest: InspectTasks) -> Any:
    """Return the class of the models of a run: each call goes to the address of the episode that makes it."""
    from inspect_ai.model import get_model

    nowhere = "http://127.0.0.1:9/v1"
    compatible: Any = type(get_model(f"openai-api/{PROVIDER}/model", base_url=nowhere, api_key="-").api)

    class Recorded(compatible):  # type: ignore[misc]
        """A model behind our endpoint, which retries calls itself."""

        def __init__(self, model_name: str, judging: bool = False, **given: Any) -> None:
            given |= {"base_url": nowhere, "api_key": "-"}
            super().__init__(f"{PROVIDER}/{model_name}", **given)
            self._judging = judging or model_name == JUDGE
            self._at: dict[tuple[str, str], Any] = {}

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:  # noqa: A002
            play = guest.playing()
            if play is None:
                raise RuntimeError("a model was called outside of a sample; only calls of samples can be recorded")
            reached = play.judge if play.judge is not None and (self._judging or play.scoring) else play.model
            at = (reached["base_url"], reached["model"])
            if at not in self._at:
                given = {"base_url": at[0], "api_key": "-", "memoize": False}
                self._at[at] = get_model(f"openai-api/{PROVIDER}/{at[1]}", **given).api
            headers = {**(config.extra_headers or {}), "Authorization": f"Bearer {reached['key']}"}
            config = config.model_copy(update={"extra_headers": headers})
            answered = await self._at[at].generate(input, tools, tool_choice, config)
            return _unsaid(answered, judging=reached is play.judge)

        def should_retry(self, ex: Any) -> bool:
            del ex
            return False

        def is_auth_failure(self, ex: Any) -> bool:
            del ex
            return False

    return Recorded


def _unsaid(answered: Any, *, judging: bool) -> Any:
    """Return what a call came to, without the words of an error as a reply: a scorer would read them as an answer.

    Inspect makes a reply of a call that was refused for its length or its content, with the error as its text. One of
    a judge stays an error, or scorers would take it for a bad grade.
    """
    output, call = answered if isinstance(answered, tuple) else (answered, None)
    if call is None or not call.error or isinstance(output, Exception):
        return answered
    words = output.completion
    if judging:
        return RuntimeError(f"the judge did not answer: {words}"), call
    output.completion = output.message.content = ""
    output.error = words
    return output, call


def _watching(guest: InspectTasks) -> Any:
    """Return the class of hooks that pass events and outcomes of samples on."""
    from inspect_ai.hooks import Hooks

    class Watching(Hooks):  # type: ignore[misc]
        async def on_sample_scoring(self, data: Any) -> None:
            del data
            play = guest.playing()
            if play is not None:
                play.scoring = True

        async def on_sample_event(self, data: Any) -> None:
            play = guest.playing()
            if play is not None:
                trace(play.tell, data.event)

        async def on_sample_end(self, data: Any) -> None:
            play = guest.playing()
            if play is not None and not play.outcome.done():
                play.outcome.set_result(data.sample)

    return Watching


def _interrupt(sample: str, epoch: int) -> None:
    """Cancel a sample whose episode is no longer wanted."""
    from inspect_ai.log._samples import active_samples

    for active in active_samples():
        if (str(active.sample.id), active.epoch) == (sample, epoch):
            active.interrupt("cancel")
