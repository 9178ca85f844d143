"""`evaluate` and `aevaluate`: one function for everything that can be evaluated."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mesocosm.api.answering import AgentFunction
from mesocosm.api.definitions import UNLIMITED, Limits
from mesocosm.api.experiments import Arguments, Source, work_for
from mesocosm.api.grading import GraderLike
from mesocosm.api.progress import progress_display
from mesocosm.api.prompts import PromptLike
from mesocosm.api.results import Episode, Run, remember_call
from mesocosm.api.running import LOCAL, Wishes, Work, call_site, run_work
from mesocosm.api.waiting import waited
from mesocosm.core.failure import RunAborted, RunLeased, UsageError
from mesocosm.core.ports import Progress
from mesocosm.core.reading import nearest
from mesocosm.engine import session
from mesocosm.engine.executors.local import rare_collection
from mesocosm.engine.pool import Pool, PoolShare


def evaluate(
    what: Source,
    *,
    model: str | None = None,
    prompt: PromptLike | None = None,
    system: str = "",
    expected: str | None = None,
    grader: GraderLike | Sequence[GraderLike] | Mapping[str, GraderLike] | None = None,
    agent: str | AgentFunction | type[Any] | None = None,
    params: Mapping[str, Any] = {},
    limit: int | None = None,
    only: Sequence[int | str] | None = None,
    trials: int | None = None,
    seed: int | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    model_args: Mapping[str, Any] = {},
    judge: str | None = None,
    parallel: int | None = None,
    timeout: float | None = None,
    limits: Limits = UNLIMITED,
    name: str = "",
    tags: Sequence[str] = (),
    mcp: Sequence[str | Mapping[str, Any]] = (),
    mcp_options: Mapping[str, Any] = {},
    store: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
    on_episode: Callable[[Episode], None] | None = None,
    executor: str = "local",
) -> Run:
    """Evaluate rows, a file, a frame, a benchmark, an environment or a configuration, and return the run.

    The same call again continues: what finished is not run again, after a crash, an interrupt or in another process. A
    changed grader grades the stored answers, more rows or trials run only what is new.

    Args:
        what: A file of rows (`q.csv`), a list of dicts, a frame, the name of a benchmark, `file.py:Class`,
            `file.py@benchmark`, a folder, the URL of an environment server, a configuration (`.toml`), an Environment
            class, a Benchmark.
        model: `provider/name`, with `@URL` for a server of your own; by default `$MESOCOSM_MODEL`.
        prompt: A text with `{column}`, a list of messages, or a function from a row to one of them.
        system: What precedes the prompt.
        expected: The column with the right answer, which the model never sees; found by its usual names.
        grader: A name (`"numeric"`), a function `(answer, expected)`, a Grader, or several; the first one ranks.
        agent: A function from the prompt (or the row) to an answer, an AgentWorkflow, or the name of an agent.
        params: Parameters of the benchmark.
        limit: Only the first n rows, tasks or seeds.
        only: These rows (by number or id) or seeds.
        trials: How often each; by default what the benchmark declares (epochs of a task of Inspect), else once.
        seed: The seed of sampling, for models and benchmarks that take one.
        temperature: What the model is asked with; by default what the benchmark declares, else 0.
        max_tokens: Limit of one reply; by default what the benchmark declares, else 4,096.
        model_args: Further settings, added to every call unchanged.
        judge: The model that graders ask; by default the run's.
        parallel: Episodes at a time.
        timeout: Seconds for one answer or episode.
        limits: Budgets and rates.
        name: A name for the run.
        tags: Words to find it by.
        mcp: MCP servers whose tools the model may call: `"stdio:COMMAND"`, a URL, or a mapping with `server`, `headers`
            (`{"Authorization": "Bearer $TOKEN"}`; variables are named, their values never stored) and `env`.
        mcp_options: `rounds` of calls before an answer, `timeout` of each call in seconds, `characters` of a result.
        store: Where results are kept: a folder, a file, or the URL of a database.
        fresh: Start over, whatever finished before.
        retry_failed: Repeat episodes that infrastructure failed.
        progress: Whether to show progress, or a function that gets it; by default on a terminal and in a notebook.
        on_episode: Called with every finished episode.
        executor: Where the episodes of a named source are played: `local`, `processes:N`, `ray`, `queue`.

    Raises:
        UsageError: The call cannot work; nothing was stored or sent.
        RunAborted: The model refuses the key, or is not there.
        InfrastructureError: The store or the disk cannot be used.
        Interrupted: Ctrl-C; what finished is kept.

    >>> rows = [{"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?", "answer": "4"}]
    >>> evaluate(rows, prompt="{question}", grader="numeric", model="builtin/oracle").score
    1.0000 [0.3424, 1.0000] weak n=2/2
    """
    given = dict(locals())
    where = call_site()
    return waited(lambda control: evaluated(given, where, control))


async def aevaluate(what: Source, **arguments: Any) -> Run:
    """Do what `evaluate` does, awaited.

    >>> import asyncio
    >>> rows = [{"question": "1 + 1?", "answer": "2"}]
    >>> asyncio.run(aevaluate(rows, prompt="{question}", grader="numeric", model="builtin/oracle")).status
    'finished'
    """
    return await evaluated({"what": what, **arguments}, call_site(), session.Control())


async def evaluated(given: Mapping[str, Any], where: str, control: session.Control) -> Run:
    """Return the run that the arguments of `evaluate` describe, by their names. Raises TypeError for an unknown one."""
    call = await asyncio.to_thread(_described, given, where)
    with progress_display(call.wishes.progress) as display:
        return call.remembered(await run_work(call.work, call.wishes, control, display))


async def evaluated_together(calls: Sequence[Mapping[str, Any]], where: str, control: session.Control) -> list[Run]:
    """Return the runs of several calls of `evaluate`, which go at once, in the order of the calls.

    `parallel`, `limits` and `progress` are those of the first call, for all runs together. What cannot work is raised
    before any run begins. What then ends one run (its model refuses the key, another process works on it) is raised
    when the others have ended; a store that fails ends all. Raises as `evaluate` does.
    """
    if len(calls) == 1:
        return [await evaluated(calls[0], where, control)]
    described = [await asyncio.to_thread(_described, given, where) for given in calls]
    first = described[0]
    if any(one.wishes.executor != LOCAL for one in described):
        raise UsageError(
            f"executor={first.wishes.executor!r}: runs that go at once share their budgets in this process; evaluate "
            "one model at a time"
        )
    pool = Pool(first.work.spec.parallel, first.work.spec.limits)
    shares = [pool.share() for _ in described]
    controls = [session.Control() for _ in described]

    def halt(reason: str, grace: float) -> None:
        for one in controls:
            one.stop(reason, grace)

    async def one(call: "_Call", share: PoolShare, own: session.Control) -> Run:
        try:
            return call.remembered(await run_work(call.work, call.wishes, own, display, share))
        finally:
            share.leave()

    control.halt = halt
    with progress_display(first.wishes.progress) as display, rare_collection():
        tasks = [asyncio.create_task(one(*each)) for each in zip(described, shares, controls, strict=True)]
        try:
            left = set(tasks)
            while left:
                ended, left = await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION)
                for task, share in zip(tasks, shares, strict=True):
                    if task in ended and not (share.begun and isinstance(task.exception(), _OF_ONE_RUN)):
                        task.result()
            return [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


_OF_ONE_RUN = (RunAborted, RunLeased, UsageError)
"""What ends one of several runs that have begun, and leaves the others going."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of `evaluate` that was understood; `given` are its arguments."""

    work: Work
    wishes: Wishes
    given: Mapping[str, Any]
    where: str

    def remembered(self, run: Run) -> Run:
        """Return the run, which can repeat the call."""

        def again(**changes: Any) -> Run:
            given = {**self.given, **changes, "fresh": False}
            return waited(lambda control: evaluated(given, self.where, control))

        return remember_call(run, again)


def _described(given: Mapping[str, Any], where: str) -> _Call:
    unknown = sorted(given.keys() - _EXPERIMENT - _WISHES - {"what"})
    if unknown:
        near = nearest(unknown[0], [*_EXPERIMENT, *_WISHES])
        hint = f"; did you mean {near!r}?" if near else ""
        raise TypeError(f"evaluate has no argument {unknown[0]!r}{hint}")
    if isinstance(given["what"], Iterator):
        # The run can be resumed or graded anew later, and an iterator yields its rows once.
        given = {**given, "what": list(given["what"])}
    arguments = Arguments(**{name: given[name] for name in _EXPERIMENT if name in given})
    wishes = Wishes(**{name: given[name] for name in _WISHES if name in given})
    return _Call(work_for(given["what"], arguments, where), wishes, given, where)


_EXPERIMENT = frozenset(one.name for one in fields(Arguments))
_WISHES = frozenset(one.name for one in fields(Wishes))
