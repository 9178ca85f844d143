"""What users define: limits, and benchmarks of their own."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, cast

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Limits as StoredLimits
from mesocosm.core.score import Metric

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets and rates of a run; None is unlimited.

    `usd`, `tokens` and `seconds` end the run, and the rest stays pending. `retries` is how often a failed call is
    repeated.

    >>> Limits(usd=2.0, requests_per_minute=60)
    Limits(usd=2.0, tokens=None, seconds=None, requests_per_minute=60, tokens_per_minute=None, retries=4)
    """

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retries: int = 4

    def stored(self) -> StoredLimits:
        """Return them as the engine takes them. Raises UsageError for a negative one."""
        for name in ("usd", "tokens", "seconds", "requests_per_minute", "tokens_per_minute", "retries"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise UsageError(f"Limits({name}={value!r}) is negative; leave it out for no limit")
        return StoredLimits(
            run_usd=self.usd,
            run_tokens=self.tokens,
            run_seconds=self.seconds,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            retries=self.retries,
        )


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Rows with the way to ask and grade them, under a name and a version.

    Arguments of `evaluate` replace those given here. `metrics` replaces the default (the mean of each score, from 0 to
    1, more is better).

    >>> Benchmark([{"q": "1 + 1?", "answer": "2"}], name="sums", prompt="{q}", grader="numeric").name
    'sums'
    """

    data: Any
    name: str
    version: str = "1"
    prompt: Any = None
    system: str = ""
    expected: str | None = None
    grader: Any = None
    agent: Any = None
    metrics: Sequence[Metric] = ()
    licence: str = ""
    source: str = ""

    def card(self) -> dict[str, Any]:
        """Return what viewers show beside its runs."""
        return {name: value for name, value in (("licence", self.licence), ("source", self.source)) if value}


class BenchmarkMaker(Protocol[P]):
    """A function that returns a Benchmark, marked with `benchmark`."""

    __name__: str
    __mesocosm_benchmark__: bool

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Benchmark:
        """Return the benchmark for these parameters."""
        ...


def benchmark(make: Callable[P, Benchmark]) -> BenchmarkMaker[P]:
    """Mark a function that returns a Benchmark; `evaluate("file.py@name")` and `bench list` find it.

    Its parameters become `params=` and `-P`.

    >>> @benchmark
    ... def sums(most: int = 9):
    ...     return Benchmark([{"q": f"{n} + 1?", "answer": str(n + 1)} for n in range(most)], name="sums", prompt="{q}")
    >>> len(sums(most=3).data)
    3
    """

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Benchmark:
        found = make(*args, **kwargs)
        if not isinstance(found, Benchmark):
            raise UsageError(f"{make.__qualname__} returned {type(found).__name__}; it must return a Benchmark")
        return found

    made.__mesocosm_benchmark__ = True  # type: ignore[attr-defined]
    return cast(BenchmarkMaker[P], made)


def made_benchmark(make: Any, params: Mapping[str, Any], where: str) -> Benchmark:
    """Return the benchmark of a marked function. Raises UsageError for one without a mark, or unknown parameters."""
    from mesocosm.api.code import parameters
    from mesocosm.core.reading import nearest

    if not getattr(make, "__mesocosm_benchmark__", False):
        raise UsageError(f"{where} is not marked; put @mesocosm.benchmark above its def")
    known = parameters(make)
    for name in params:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            raise UsageError(f"{where} has no parameter {name!r}; it has {', '.join(known) or 'none'}{hint}")
    return cast(Benchmark, make(**params))
