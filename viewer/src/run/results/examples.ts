/** Results for tests, with whatever the test cares about replaced. */

import { metric } from '../examples'
import type { Counts, Results, Slice } from './types'

export function counts(given: Partial<Counts> = {}): Counts {
  return { planned: 100, done: 100, graded: 80, passed: 60, failed: 15, skipped: 5, owed: 0, ...given }
}

export function results(given: Partial<Results> = {}): Results {
  const latency = { n: 100, mean: 2, p50: 1.5, p90: 3, p95: 4, p99: 5, max: 6 }
  return {
    counts: counts(),
    pass_threshold: 1,
    pass_inclusive: true,
    reward: { n: 80, mean: 0.8, std: 0.3, min: 0, median: 1, max: 1 },
    score: metric({ name: 'reward', aggregation: 'mean' }),
    pass_rate: metric({ name: 'pass_rate', primary: false }),
    seed_pass_rate: 0.632,
    passes: [],
    latency,
    tokens: { prompt: 900, completion: 100, cached: 0, reasoning: 0, total: 1000, per_sample: 10 },
    cost_usd: 0.5,
    failures: [],
    metrics: [],
    labels: [],
    ...given,
  }
}

export function slice(given: Partial<Slice> = {}): Slice {
  const part = { value: 0.5, low: 0.4, high: 0.6, weak: false, n: 10 }
  return { value: 'easy', episodes: 10, reward: part, pass_rate: part, failed: 0, missing: 0, skipped: 0, ...given }
}
