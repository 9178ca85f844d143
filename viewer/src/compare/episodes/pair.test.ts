import { expect, test } from 'vitest'
import type { Schema } from '../../api/types'
import {
  type AlignedStep,
  type EpisodePair,
  firstRow,
  flipsOf,
  isOver,
  type Move,
  moveAt,
  namesOf,
  nextDifference,
  outcomeWords,
  rowsShown,
  rowTitle,
} from './pair'

function move(number: number, action = ''): Move {
  return { number, step: number, first_event: number, events: 1, action, reward: null, failure: '' }
}

function row(change: AlignedStep['change'], a: number | null, b: number | null): AlignedStep {
  return { change, a: a === null ? null : move(a), b: b === null ? null : move(b) }
}

function pairOf(steps: AlignedStep[], first: number | null): EpisodePair {
  const side = { episode_id: '', steps: steps.length, repeated: 0, in_vain: 0 }
  return {
    finding: first === null ? 'same' : 'action',
    words: '',
    first,
    by: 'step',
    whole: true,
    steps,
    a: side,
    b: side,
  }
}

const SWAPPED = pairOf([row('same', 0, 0), row('action', 1, 1), row('only_b', null, 2), row('same', 2, 3)], 1)

test('the page opens at the first difference, at the last step where there is none', () => {
  expect(firstRow(SWAPPED)).toBe(1)
  expect(firstRow(pairOf([row('same', 0, 0), row('same', 1, 1)], null))).toBe(1)
})

test('differences are gone through in both directions, and only they are listed on demand', () => {
  expect(nextDifference(SWAPPED.steps, 1, 1)).toBe(2)
  expect(nextDifference(SWAPPED.steps, 2, 1)).toBeNull()
  expect(nextDifference(SWAPPED.steps, 2, -1)).toBe(1)
  expect(rowsShown(SWAPPED.steps, true)).toEqual([1, 2])
  expect(rowsShown(SWAPPED.steps, false)).toEqual([0, 1, 2, 3])
})

test('without a counterpart an episode stands where it was', () => {
  expect(moveAt(SWAPPED, 2, 'a')).toMatchObject({ move: { number: 1 }, here: false })
  expect(isOver(SWAPPED.steps, 2, 'a')).toBe(false)
  expect(isOver(pairOf([row('same', 0, 0), row('only_b', null, 1)], 1).steps, 1, 'a')).toBe(true)
})

test('at the first difference both are shown with what they did instead of each other', () => {
  const inserted = pairOf([row('same', 0, 0), row('only_b', null, 1), row('same', 1, 2)], 1)
  expect(firstRow(inserted)).toBe(1)
  expect(moveAt(inserted, 1, 'a')).toMatchObject({ move: { number: 1 }, here: true })
})

test('a row of two steps with other numbers names both', () => {
  expect(SWAPPED.steps.map((step) => rowTitle(SWAPPED, step))).toEqual([
    'Start',
    'Step 1',
    'Step 2',
    'Step 2 of A, 3 of B',
  ])
})

function episode(model: string, verdict: 'passed' | 'not_passed', trial = 0): Schema<'EpisodeDetail'> {
  const run = { name: '', title: { given: '', benchmark: 'Words', model, differs: '' } }
  return { run, trial, verdict } as unknown as Schema<'EpisodeDetail'>
}

test('two episodes are called by what tells them apart', () => {
  expect(namesOf(episode('large', 'passed'), episode('small', 'passed'))).toEqual(['large', 'small'])
  expect(namesOf(episode('large', 'passed'), episode('large', 'passed', 1))).toEqual(['trial 1', 'trial 2'])
  expect(outcomeWords(['x', 'y'], episode('', 'not_passed'), episode('', 'passed'))).toBe('y passed, x did not')
})

test('flips are the tasks of which both episodes are there', () => {
  const task = (digest: string, flipped: boolean, b: string | null) => ({
    task_id: digest,
    task_digest: digest,
    a: 1,
    b: 0,
    flipped,
    episode_a: `${digest}-a`,
    episode_b: b,
  })
  const found = flipsOf(
    [task('one', true, 'b'), task('two', false, 'b'), task('three', true, null), task('four', true, 'b')],
    'four',
  )
  expect(found.flips.map(({ digest }) => digest)).toEqual(['one', 'four'])
  expect(found.at).toBe(1)
})
