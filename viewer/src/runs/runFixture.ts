import type { Schema } from '../api/types'

type Run = Schema<'RunSummary'>
type Metric = Schema<'MetricDocument'>

/** A run for tests: running, half done, scored. */
export function runFixture(changes: Partial<Run> = {}): Run {
  return {
    id: '01a1fe09-04bb-730d-bd92-b9a4cf43018b',
    name: '',
    title: { given: '', benchmark: 'Word game', model: 'small', differs: '100 seeds' },
    benchmark: 'word-game',
    benchmark_title: 'Word game',
    benchmark_version: '1.0.0',
    benchmark_digest: 'digest',
    kind: 'environment',
    model: 'openai/small@http://127.0.0.1:8771/v1',
    agent: 'loop',
    state: 'running',
    stop_requested: false,
    attempt: 1,
    signature: 'signature',
    group_id: null,
    tags: [],
    counts: countsFixture(),
    bins: null,
    primary: metricFixture(),
    published: null,
    usage: { prompt: 900, completion: 100, cached: 0, reasoning: 0, total: 1_000, calls: 10, cost_usd: null },
    created_at: '2026-01-01T00:00:00Z',
    started_at: '2026-01-01T00:00:00Z',
    ended_at: null,
    duration_s: 60,
    error: '',
    owner: null,
    visibility: null,
    team_id: null,
    workspace_id: null,
    domain_id: null,
    protocol: null,
    mine: null,
    may_change: null,
    may_work: null,
    request: null,
    imported: null,
    ...changes,
  }
}

/** Counts for tests: half of 100 episodes are done. */
export function countsFixture(changes: Partial<Run['counts']> = {}): Run['counts'] {
  return {
    ...{ planned: 100, completed: 48, truncated: 1, timeout: 0, failed: 1, done: 50, owed: 50 },
    ...{ passed: 30, not_passed: 19, errors: 1, missing: 50 },
    ...changes,
  }
}

/** A metric for tests: 0.6 of 50 scored episodes. */
export function metricFixture(changes: Partial<Metric> = {}): Metric {
  return {
    name: 'success',
    aggregation: 'mean',
    value: 0.6,
    low: 0.46,
    high: 0.72,
    method: 'wilson',
    level: 0.95,
    n_planned: 100,
    n_scored: 50,
    n_tasks: 50,
    n_worst: 0,
    worst_value: 0,
    missing: {},
    pessimistic: 0.6,
    pessimistic_low: 0.46,
    pessimistic_high: 0.72,
    n_malformed: 0,
    strict: null,
    strict_low: null,
    strict_high: null,
    weak: false,
    higher_is_better: true,
    directed: true,
    primary: true,
    ...changes,
  }
}
