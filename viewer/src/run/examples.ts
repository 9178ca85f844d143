/** Documents for tests: a run, a metric, an episode, with whatever the test cares about replaced. */

import type { Schema } from '../api/types'

export function metric(given: Partial<Schema<'MetricDocument'>> = {}): Schema<'MetricDocument'> {
  return {
    name: 'goal_rate',
    aggregation: 'pass_rate',
    value: 0.35,
    low: 0.264,
    high: 0.447,
    method: 'wilson',
    level: 0.95,
    n_planned: 100,
    n_scored: 100,
    n_tasks: 100,
    n_worst: 0,
    worst_value: null,
    missing: {},
    pessimistic: null,
    pessimistic_low: null,
    pessimistic_high: null,
    n_malformed: 0,
    strict: null,
    strict_low: null,
    strict_high: null,
    weak: false,
    higher_is_better: true,
    directed: true,
    primary: true,
    ...given,
  }
}

const OUTCOMES = { passed: 80, not_passed: 20, errors: 0, missing: 0 }

export function counts(given: Partial<Schema<'CountsDocument'>> = {}): Schema<'CountsDocument'> {
  return {
    planned: 100,
    completed: 100,
    truncated: 0,
    timeout: 0,
    failed: 0,
    done: 100,
    owed: 0,
    ...OUTCOMES,
    ...given,
  }
}

export function usage(given: Partial<Schema<'UsageDocument'>> = {}): Schema<'UsageDocument'> {
  return { prompt: 900, completion: 100, cached: 0, reasoning: 0, total: 1000, calls: 10, cost_usd: 0.01, ...given }
}

export function run(given: Partial<Schema<'RunDetail'>> = {}): Schema<'RunDetail'> {
  return {
    id: '01a1fe09-a6ed-7761-abde-3870a67f7504',
    title: { given: '', benchmark: 'Sums', model: 'small', differs: '' },
    name: 'grid sweep',
    benchmark: 'grid-world',
    benchmark_title: 'Grid world',
    benchmark_version: '1.0.0',
    benchmark_digest: '6b793fa8dfe755ce3b04eeda8efb28ca',
    kind: 'environment',
    model: 'openai/tiny-1b',
    agent: 'loop',
    state: 'finished',
    stop_requested: false,
    attempt: 1,
    signature: 'a'.repeat(32),
    group_id: null,
    tags: [],
    counts: counts(),
    bins: null,
    primary: metric(),
    published: null,
    usage: usage(),
    created_at: '2026-11-21T12:00:00Z',
    started_at: '2026-11-21T12:00:00Z',
    ended_at: '2026-11-21T12:01:00Z',
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
    metrics: [metric()],
    failures: [],
    ungraded: [],
    mean_reward: 0.4,
    mean_steps: 20,
    warnings: [],
    rescored: '',
    spec: {},
    info: {},
    provenance: {},
    commands: { repeat: null, resume: null, show: 'mesocosm run show 01a1fe09' },
    artifacts: [],
    holder: null,
    ...given,
  }
}

export function failure(given: Partial<Schema<'FailureGroup'>> = {}): Schema<'FailureGroup'> {
  return {
    cause: 'malformed_action',
    boundary: 'agent',
    count: 3,
    valid: true,
    episode_id: 'e-1',
    task_id: 'seed 4',
    message: 'not one of up, down, left, right',
    ...given,
  }
}

export function episode(given: Partial<Schema<'EpisodeSummary'>> = {}): Schema<'EpisodeSummary'> {
  return {
    id: `e-${given.index ?? 0}`,
    run_id: 'r-1',
    index: 0,
    task_id: `seed ${given.index ?? 0}`,
    task_digest: 'd',
    cluster: '',
    trial: 0,
    seed: '0',
    state: 'completed',
    score: 1,
    scores: [],
    failure: null,
    steps: 12,
    total_reward: 1.1,
    usage: usage(),
    retries: 0,
    events: 40,
    started_at: '2026-11-21T12:00:00Z',
    ended_at: '2026-11-21T12:00:05Z',
    duration_s: 5,
    labels: {},
    verdict: 'passed',
    question: '',
    expected: '',
    given: '',
    why: '',
    mistake: '',
    behaviour: '',
    terminal_info: null,
    ...given,
  }
}
