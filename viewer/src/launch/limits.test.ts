import { expect, test } from 'vitest'
import { budgetWords, episodesProblem, type Limits, obstacle } from './limits'

const FREE: Limits = {
  episodes_per_run: 20,
  steps_per_episode: 200,
  tokens_per_episode: 1,
  episode_seconds: 1,
  run_seconds: 1,
  run_usd: null,
  may_run: true,
  domains: null,
  cooldown_seconds: 120,
  cooldown_left_seconds: 0,
  runs_per_day: 5,
  runs_left_today: 3,
  waiting_at_most: 4,
  waiting: 1,
  queue_length: 2,
  budget: { limit_usd: 2, spent_usd: 0.5, left_usd: 1.5 },
  team_budget: null,
  environments_per_owner: 20,
  team_size: 4,
  sign_up: false,
  guests: true,
}

test('nothing stands in the way of who has runs left', () => {
  expect(obstacle(FREE)).toBeUndefined()
  expect(obstacle(undefined)).toBeUndefined()
})

test('what stands in the way is told: the day, the queue, the pause, in this order', () => {
  expect(obstacle({ ...FREE, runs_left_today: 0, waiting: 4 })).toContain('5 runs per day')
  expect(obstacle({ ...FREE, runs_per_day: 1, runs_left_today: 0 })).toContain(
    'You have reached the limit of 1 run per day',
  )
  expect(obstacle({ ...FREE, waiting: 4, cooldown_left_seconds: 9 })).toContain('4 queued or active runs')
  expect(obstacle({ ...FREE, cooldown_left_seconds: 9.5 })).toContain('10 s')
})

test('the pause ends by itself', () => {
  expect(obstacle({ ...FREE, cooldown_left_seconds: 9.5 }, 4)).toContain('6 s')
  expect(obstacle({ ...FREE, cooldown_left_seconds: 9.5 }, 10)).toBeUndefined()
})

test('more episodes than a run may have are a problem', () => {
  expect(episodesProblem(20, FREE)).toBeUndefined()
  expect(episodesProblem(21, FREE)).toContain('20')
})

test('a budget is told where there is one', () => {
  expect(budgetWords(FREE.budget)).toBe('$1.50 of $2.00 left')
  expect(budgetWords({ limit_usd: null, spent_usd: 0, left_usd: null })).toBeUndefined()
})
