import { describe, expect, it } from 'vitest'
import { pairFixture } from './ComparePairFixture'
import { betterIn, isBinary, onlyWords, placesOf, shownCounts, shownTasks, stripOf } from './CompareTasks'
import type { TaskPair } from './CompareVerdict'

const task = (task_id: string, a: number | null, b: number | null, flipped = false): TaskPair => ({
  task_id,
  task_digest: `digest of ${task_id}`,
  a,
  b,
  flipped,
  episode_a: null,
  episode_b: null,
})

const tasks = [task('up', 0, 1, true), task('down', 1, 0.5), task('same', 1, 1), task('gone', null, 1)]
const names = (list: TaskPair[]) => list.map((item) => item.task_id)

describe('who did better', () => {
  it('depends on the direction of the metric', () => {
    expect(tasks.map((item) => betterIn(item, true))).toEqual(['b', 'a', 'same', 'unknown'])
    expect(tasks.map((item) => betterIn(item, false))).toEqual(['a', 'b', 'same', 'unknown'])
    expect(tasks.map((item) => betterIn(item, null))).toEqual(['b', 'a', 'same', 'unknown'])
  })
})

describe('the list', () => {
  it('shows the tasks that were asked for, in the order in which they came', () => {
    expect(names(shownTasks(tasks, 'flipped', true))).toEqual(['up'])
    expect(names(shownTasks(tasks, 'a', true))).toEqual(['down'])
    expect(names(shownTasks(tasks, 'b', true))).toEqual(['up'])
    expect(names(shownTasks(tasks, 'all', true))).toEqual(['up', 'down', 'same', 'gone'])
  })
})

describe('the strip', () => {
  it('shares the tasks that both runs have scored', () => {
    const shares = stripOf(pairFixture()).map(({ side, share }) => [side, share])
    expect(shares).toEqual([
      ['a', 0.05],
      ['same', 0.8],
      ['b', 0.15],
    ])
  })

  it('is empty without tasks', () => {
    const counts = { a_better: 0, b_better: 0, same: 0, flipped: 0, only_a: 3, only_b: 0 }
    expect(stripOf(pairFixture({ counts })).every(({ share }) => share === 0)).toBe(true)
    expect(shownCounts(pairFixture({ counts })).all).toBe(3)
  })
})

describe('the plane', () => {
  const counts = { a_better: 1, b_better: 1, same: 1, flipped: 1, only_a: 0, only_b: 1 }

  it('names tasks that stand alone and counts those that stand together', () => {
    const pair = pairFixture({ tasks: [...tasks, task('again', 1, 1)], counts: { ...counts, same: 2 } })
    expect(placesOf(pair, true)).toEqual([
      { x: 0, y: 1, n: 1, label: 'up', tone: 'better' },
      { x: 1, y: 0.5, n: 1, label: 'down', tone: 'worse' },
      { x: 1, y: 1, n: 2, label: '', tone: undefined },
    ])
  })

  it('has cells of tasks when there are too many to name', () => {
    const density = [{ a: 0.25, b: 0.75, n: 9_000 }]
    const pair = pairFixture({ tasks, density, counts: { ...counts, b_better: 9_000 } })
    expect(placesOf(pair, false)).toEqual([{ x: 0.25, y: 0.75, n: 9_000, label: '', tone: 'worse' }])
  })

  it('has no colours where no direction is declared', () => {
    const pair = pairFixture({ tasks, counts: { ...counts, same: 1 } })
    expect(placesOf(pair, null).map(({ tone }) => tone)).toEqual([undefined, undefined, undefined])
  })

  it('is not needed when tasks only pass or fail', () => {
    expect(isBinary(pairFixture({ density: [{ a: 0, b: 1, n: 2 }] }))).toBe(true)
    expect(isBinary(pairFixture({ density: [{ a: 0.5, b: 1, n: 2 }] }))).toBe(false)
  })
})

it('says which tasks were not compared', () => {
  const counts = { a_better: 0, b_better: 0, same: 1, flipped: 0, only_a: 1_200, only_b: 1 }
  expect(onlyWords(pairFixture({ counts }), 'A', 'C')).toBe(
    'Not compared because the other run has no score: 1,200 tasks only in A, 1 task only in C.',
  )
  expect(onlyWords(pairFixture(), 'A', 'B')).toBe('')
})
