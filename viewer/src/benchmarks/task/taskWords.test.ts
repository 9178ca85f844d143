import { expect, test } from 'vitest'
import { answersOf, noiseWords, type Task, type Trial, worthComparing } from './taskWords'

function trial(id: string, group: string, verdict: Trial['verdict'], given = ''): Trial {
  return {
    episode_id: id,
    run_id: `run-${group}`,
    run_name: '',
    model: group,
    agent: 'chat',
    trial: 0,
    verdict,
    score: verdict === 'passed' ? 1 : 0,
    given,
    why: '',
    started_at: null,
    group,
  }
}

function task(items: Trial[], more: Partial<Task> = {}): Task {
  const groups = [...new Set(items.map(({ group }) => group))]
  const tried = groups.map((group) => ({
    group,
    name: group,
    model: group,
    agent: 'chat',
    builtin: group === 'oracle',
    trials: items.filter((item) => item.group === group).length,
    passed: 0,
    judged: 0,
    share: null,
    low: null,
    high: null,
    mixed: false,
    given: '',
    given_by: 0,
  }))
  return { items, tried, repeated: 0, mixed: 0, ...more } as unknown as Task
}

test('one that passed is compared with one that did not, and built-in agents with nobody', () => {
  const items = [trial('1', 'oracle', 'passed'), trial('2', 'a', 'not_passed'), trial('3', 'b', 'passed')]
  expect(worthComparing(task(items))).toEqual({ a: '3', b: '2' })
  expect(worthComparing(task(items.slice(0, 2)))).toBeNull()
})

test('answers are counted over models, the most frequent first', () => {
  const items = [
    trial('1', 'a', 'not_passed', '18'),
    trial('2', 'b', 'passed', '17'),
    trial('3', 'c', 'not_passed', '18'),
    trial('4', 'oracle', 'passed', '17'),
    trial('5', 'd', 'not_passed'),
  ]
  expect(answersOf(task(items)).map(({ given, trials, passed }) => [given, trials.length, passed])).toEqual([
    ['18', 2, 0],
    ['17', 1, 1],
  ])
})

test('noise is told only where somebody tried it several times', () => {
  expect(noiseWords(task([trial('1', 'a', 'passed')]))).toContain('nothing is known of its noise')
  const items = [trial('1', 'a', 'passed'), trial('2', 'a', 'not_passed')]
  expect(noiseWords(task(items, { repeated: 1, mixed: 1 }))).toBe(
    '1 model tried it several times (2 trials): it does not come out the same every time.',
  )
})
