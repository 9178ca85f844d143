import type { Pair } from './CompareVerdict'

/** A pair of runs for tests: B is better by 0.1 in 100 shared tasks. */
export function pairFixture(changes: Partial<Pair> = {}): Pair {
  return {
    a: 'run-a',
    b: 'run-b',
    paired: true,
    mean_a: 0.5,
    mean_b: 0.6,
    delta: 0.1,
    low: 0.02,
    weak: false,
    high: 0.18,
    level: 0.95,
    p_value: 0.01,
    p_adjusted: 0.02,
    test: 'mcnemar exact',
    method: 'tango',
    n_a: 100,
    n_b: 100,
    smallest_difference: 0.12,
    winner: 'b',
    counts: { a_better: 5, b_better: 15, same: 80, flipped: 20, only_a: 0, only_b: 0 },
    tasks: [],
    density: [],
    ...changes,
  }
}
