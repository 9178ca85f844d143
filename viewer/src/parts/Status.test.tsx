import { render, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { BUILD_STATES, CHECKS, EPISODE_STATES, RUN_STATES } from '../api/words'
import { CheckBadge } from '../environments/CheckBadge'
import { EnvironmentStatus } from '../environments/EnvironmentStatus'
import { keysOf } from '../search'
import { UNKNOWN } from './look'
import { type State, Status } from './Status'

const badge = () => document.querySelector<HTMLElement>('[data-tip]')

describe('every value that the server can send has a look and a meaning', () => {
  it.each(keysOf(RUN_STATES))('run %s', (state) => {
    render(<Status state={state} />)
    expect(badge()?.dataset.tone).not.toBe('plain')
    expect(badge()?.dataset.tip).toBe(RUN_STATES[state])
  })

  it.each(keysOf(EPISODE_STATES))('episode %s', (state) => {
    render(<Status of="episode" state={state} />)
    expect(badge()?.dataset.tone).not.toBe('plain')
    expect(badge()?.dataset.tip).toBe(EPISODE_STATES[state])
  })

  it.each(['pending', ...keysOf(BUILD_STATES)])('environment %s', (state) => {
    render(<EnvironmentStatus status={state} />)
    expect(badge()?.dataset.tone).not.toBe('plain')
    expect(badge()?.dataset.tip).not.toBe(UNKNOWN)
  })

  it.each(keysOf(CHECKS))('check %s', (state) => {
    render(<CheckBadge state={state} />)
    expect(badge()?.textContent).toContain(CHECKS[state].name)
    expect(badge()?.dataset.tip).toBe(CHECKS[state].meaning)
  })
})

// A newer server may send values that the page does not know.
describe.each(['hibernating', 'constructor'])('the unknown value %s is shown as it is', (word) => {
  it.each([
    ['run', <Status key="run" state={word as State} />],
    ['environment', <EnvironmentStatus key="environment" status={word} />],
  ])('as the state of a %s', (_name, element) => {
    render(element)
    expect(screen.getByText(word).parentElement?.dataset.tone).toBe('plain')
    expect(badge()?.dataset.tip).toBe(UNKNOWN)
  })
})

it('a step of the build is shown as a build in progress', () => {
  render(<EnvironmentStatus status="installing" />)
  expect(screen.getByText('installing').parentElement?.dataset.tone).toBe('live')
})
