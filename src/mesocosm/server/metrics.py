"""Metrics of a server for Prometheus: requests of this process, and the state of the store."""

import time
from collections.abc import Iterator
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from mesocosm import __version__
from mesocosm.server.cache import Cache, a_while
from mesocosm.store.counts import CountsNow, ServerCounts
from mesocosm.store.run_requests import RunKind

_MINUTE_S = 60.0
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class ServerMetrics:
    """The metrics of a server, in a separate registry, because one process may contain several servers."""

    def __init__(self, counts: ServerCounts, lease_s: float) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "mesocosm_requests", "Completed HTTP requests", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "mesocosm_request_seconds",
            "Seconds from a request to its complete response",
            ["method", "route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._lag = Gauge(
            "mesocosm_server_loop_lag_seconds",
            "Maximum delay of the server's event loop in the last one to two minutes",
            registry=self._registry,
        )
        self._lags = [0.0, 0.0]
        self._lags_since = self._ticked = time.monotonic()
        self._registry.register(_StoreCollector(counts, lease_s))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request. `route` is a path template, so that ids do not create time series."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def tick(self, expected_s: float) -> None:
        """Record a tick of the event loop, expected `expected_s` seconds after the previous one."""
        now = time.monotonic()
        if now - self._lags_since > _MINUTE_S:
            self._lags, self._lags_since = [self._lags[1], 0.0], now
        self._lags[1] = max(self._lags[1], now - self._ticked - expected_s)
        self._ticked = now
        self._lag.set(max(self._lags))

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus. Raises InfrastructureError if the store fails."""
        return generate_latest(self._registry)


class _StoreCollector(Collector):
    """Metrics of the store, read at each scrape."""

    def __init__(self, counts: ServerCounts, lease_s: float) -> None:
        self._counts = counts
        self._lease_s = lease_s
        # Sums over all runs. They are cached for some seconds if they are slow.
        self._recent = Cache[CountsNow](1)

    def describe(self) -> Iterator[Metric]:
        """Return nothing: describing these metrics would read the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics."""
        taken = self._recent.get("", lambda: self._counts.take(self._lease_s), lasts=a_while)
        about = GaugeMetricFamily("mesocosm_info", "Version of the server", labels=["version"])
        about.add_metric([__version__], 1)
        yield about
        for name, words, counted in (
            ("mesocosm_runs", "Runs by status", taken.runs),
            ("mesocosm_episodes", "Stored episodes by status", taken.episodes),
            ("mesocosm_environments", "Submitted environments by status", taken.environments),
            ("mesocosm_builds", "Environment versions by build state", taken.builds),
            ("mesocosm_orders", "Run requests by state", taken.requests),
        ):
            family = GaugeMetricFamily(name, words, labels=["status"])
            for status, count in sorted(counted.items()):
                family.add_metric([status], count)
            yield family
        yield GaugeMetricFamily("mesocosm_queue_length", "Runs that are waiting for a worker", value=taken.queued)
        yield GaugeMetricFamily(
            "mesocosm_queue_age_seconds", "Seconds that the oldest run has been waiting", value=taken.queue_age_s
        )
        yield GaugeMetricFamily("mesocosm_workers_alive", "Workers with a recent heartbeat", value=taken.workers)
        waiting = GaugeMetricFamily(
            "mesocosm_queue_depth", "Runs that are waiting for a worker, by kind", labels=["kind"]
        )
        for kind in sorted({*get_args(RunKind), *taken.waiting}):
            waiting.add_metric([kind], taken.waiting.get(kind, 0))
        yield waiting
        for name, words, number in (
            ("mesocosm_worker_slots", "Episode slots of the living workers", taken.slots),
            ("mesocosm_worker_slots_busy", "Episode slots of the living workers that are in use", taken.busy),
            ("mesocosm_helpers", "Processes that help to play runs of other workers", taken.helpers),
            ("mesocosm_seats_free", "Free places for processes that help to play runs", taken.seats),
        ):
            yield GaugeMetricFamily(name, words, value=number)
        yield GaugeMetricFamily("mesocosm_workers_running", "Runs that workers are running", value=taken.playing)
        yield GaugeMetricFamily(
            "mesocosm_worker_silence_seconds",
            "Maximum time since the last heartbeat of an active worker; rises while its event loop is blocked",
            value=taken.silence_s,
        )
        yield GaugeMetricFamily(
            "mesocosm_worker_loop_lag_seconds",
            "Maximum delay of a worker's event loop before its last heartbeat",
            value=taken.lag_s,
        )
        tokens = CounterMetricFamily("mesocosm_tokens", "Tokens of all runs", labels=["kind"])
        tokens.add_metric(["input"], taken.input_tokens)
        tokens.add_metric(["output"], taken.output_tokens)
        yield tokens
        yield CounterMetricFamily("mesocosm_cost_usd", "Cost of all runs, as far as it is known", value=taken.cost_usd)
