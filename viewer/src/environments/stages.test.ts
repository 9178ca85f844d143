import { expect, it } from 'vitest'
import { building, reachedIn, stagesOf } from './stages'

const states = (state: string, reached?: string) => stagesOf(state, reached).map((stage) => stage.state)

it('tells which steps are behind and which is taken', () => {
  expect(states('queued')).toEqual(['now', 'ahead', 'ahead', 'ahead', 'ahead'])
  expect(states('installing')).toEqual(['done', 'done', 'done', 'now', 'ahead'])
  expect(states('ready')).toEqual(['done', 'done', 'done', 'done', 'done'])
})

it('marks the step that failed, and none when that is not known', () => {
  expect(states('failed', 'checking')).toEqual(['done', 'done', 'failed', 'ahead', 'ahead'])
  expect(states('failed')).toEqual(['ahead', 'ahead', 'ahead', 'ahead', 'ahead'])
})

it('reads from the log how far a build came', () => {
  expect(reachedIn('cloning https://…\nchecking the manifest\nno manifest')).toBe('checking')
  expect(reachedIn('')).toBeUndefined()
})

it('knows what goes on', () => {
  expect(['pending', 'cloning', 'testing', 'ready', 'failed', undefined].map(building)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ])
})
