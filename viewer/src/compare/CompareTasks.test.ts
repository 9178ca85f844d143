import { describe, expect, it } from 'vitest'
import { betterIn, shownTasks } from './CompareTasks'
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
