import { render, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { EnvironmentStatus } from '../environments/EnvironmentStatus'
import { RunStatus } from '../runlist/RunStatus'
import { type State, Status } from './Status'

// A server that is newer than the page uses words that its types do not have.
const WORDS = ['hibernating', 'constructor']

describe('a word that the page does not know', () => {
  it.each(WORDS)('is shown as it is where a run stands: %s', (word) => {
    render(<Status state={word as State} />)
    expect(screen.getByText(word).parentElement?.dataset.tone).toBe('plain')
  })

  it.each(WORDS)('is shown as it is where a run of a platform stands: %s', (word) => {
    render(<RunStatus status={word as 'pending'} />)
    expect(screen.getByText(word).parentElement?.dataset.tone).toBe('plain')
  })

  it.each(WORDS)('is shown as it is where a submission stands, and is not called a build: %s', (word) => {
    render(<EnvironmentStatus status={word} />)
    expect(screen.getByText(word).parentElement?.dataset.tone).toBe('plain')
    expect(screen.getByText(word).parentElement?.title).not.toContain('built')
  })
})

it('the steps of a build are shown as a build that goes on', () => {
  render(<EnvironmentStatus status="installing" />)
  expect(screen.getByText('installing').parentElement?.dataset.tone).toBe('live')
})
