import { describe, expect, it } from 'vitest'
import { cutOffWords, goesOn } from './goesOn'

describe('an episode that has not ended', () => {
  it('goes on while its run does', () => {
    const episode = { state: 'running', run: { state: 'running' } } as const
    expect(goesOn(episode)).toBe(true)
    expect(cutOffWords(episode)).toBe('')
  })

  it.each([
    ['interrupted', 'interrupted: its run was interrupted; resume the run to play it again'],
    ['stopped', 'interrupted: its run was stopped; resume the run to play it again'],
    ['finished', 'interrupted: its run has ended; resume the run to play it again'],
  ] as const)('is cut off when its run is %s', (state, words) => {
    const episode = { state: 'running', run: { state } } as const
    expect(goesOn(episode)).toBe(false)
    expect(cutOffWords(episode)).toBe(words)
  })

  it('was never played when it had not begun', () => {
    const episode = { state: 'pending', run: { state: 'stopped' } } as const
    expect(cutOffWords(episode)).toBe('not played: its run was stopped')
  })
})

it('an episode that has ended neither goes on nor is cut off', () => {
  const episode = { state: 'completed', run: { state: 'interrupted' } } as const
  expect(goesOn(episode)).toBe(false)
  expect(cutOffWords(episode)).toBe('')
  expect(goesOn(undefined)).toBe(false)
})
