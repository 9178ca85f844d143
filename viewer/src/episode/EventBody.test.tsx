import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import type { Schema } from '../api/types'
import { EventBody } from './EventBody'
import type { EventDocument } from './events'
import { KINDS } from './search'

const EPISODE = { id: 'e', failure: null } as unknown as Schema<'EpisodeDetail'>

function event(kind: string, payload: unknown, seq = 0): EventDocument {
  return { seq, step: 1, at: 0, kind, payload: payload as EventDocument['payload'] }
}

function show(events: EventDocument[], row = 0, onCall = vi.fn()) {
  const shown = events[row] ?? event('log', null)
  return render(
    <EventBody
      row={row}
      event={shown}
      eventAt={(place) => events[place]}
      opens={false}
      highlight=""
      marked={false}
      episode={EPISODE}
      onCall={onCall}
    />,
  )
}

test.each([...KINDS, 'a kind of tomorrow', 'constructor'])('%s with any payload is shown somehow', (kind) => {
  for (const payload of [null, 'text', 7, [], {}, { message: 5, data: null, role: 1, usage: 'x', tool_calls: 'x' }]) {
    const { container, unmount } = show([event(kind, payload)])
    expect(container).toBeTruthy()
    unmount()
  }
})

test('hostile text in every field makes no element', () => {
  const evil = '<img src=x onerror=alert(1)>'
  const payload = {
    ...{ data: evil, content: evil, role: evil, model: evil, text: evil, reasoning: evil, action: evil, name: evil },
    ...{ arguments: { [evil]: evil }, info: { [evil]: evil }, cause: evil, message: evil, detail: evil, stderr: evil },
  }
  for (const kind of KINDS) {
    const { container, unmount } = show([event(kind, payload)])
    expect(container.querySelector('img')).toBeNull()
    unmount()
  }
})

test('a reply that is nothing but the action is told once, by the action', () => {
  const events = [event('model_call', { text: 'left', model: 'm' }), event('action', { action: 'left' }, 1)]
  show(events, 0)
  expect(screen.queryByText('left')).toBeNull()
  expect(screen.queryByText('an empty reply')).toBeNull()
})

test('a message that repeats the observation is folded, and opens', async () => {
  const events = [
    event('observation', { data: 'x' }),
    event('message', { role: 'user', content: 'line one\nline two' }, 1),
  ]
  show(events, 1)
  expect(screen.getByRole('button', { expanded: false }).textContent).toContain('line one line two')
  await userEvent.click(screen.getByRole('button', { expanded: false }))
  expect(screen.getByRole('article', { name: 'Message of user' })).toBeTruthy()
})

test('a question that was never observed is open', () => {
  show([event('message', { role: 'user', content: 'How many eggs?' })])
  expect(screen.getByRole('article', { name: 'Message of user' }).textContent).toContain('How many eggs?')
})

test('a call of a tool is shown with what came back', () => {
  const events = [
    event('tool_call', { id: 'c', name: 'search', arguments: { q: 'x' } }),
    event('message', { role: 'tool', tool_call_id: 'c', content: 'nothing found' }, 1),
  ]
  const { container } = show(events)
  expect(container.textContent).toContain('search')
  expect(container.textContent).toContain('nothing found')
})

test('the whole exchange of a model call is a click away', async () => {
  const onCall = vi.fn()
  show([event('model_call', { text: 'x', model: 'm', finish_reason: 'length', retries: 2 }, 9)], 0, onCall)
  await userEvent.click(screen.getByRole('button', { name: 'Request and reply' }))
  expect(onCall).toHaveBeenCalledWith(9)
  expect(screen.getByText('2 retries')).toBeTruthy()
})

test('a failure is told in words, with its evidence', () => {
  const { container } = show([event('error', { cause: 'environment_error', message: 'boom', stderr: 'Traceback …' })])
  expect(container.textContent).toContain('The environment crashed')
  expect(container.textContent).toContain('Traceback …')
})

test('a sample without a reward shows no zero in its place', () => {
  const payload = { reward: 0, terminated: true, info: { grader_failure: { cause: 'grader_error' } } }
  const { unmount } = show([event('step_result', payload)])
  expect(screen.getByText('no reward')).toBeTruthy()
  expect(screen.queryByText('0.000')).toBeNull()
  unmount()
  show([event('step_result', { reward: 0, terminated: true, info: {} })])
  expect(screen.getByText('0.000')).toBeTruthy()
})
