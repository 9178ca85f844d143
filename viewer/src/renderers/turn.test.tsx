import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { ContentView } from './ContentView'
import { answerOf, spells, turnOf } from './turn'

const TURN = {
  messages: [{ role: 'user', content: 'Book a table.' }],
  tools: [{ name: 'find_table', description: 'Looks for one.', parameters: { type: 'object' } }],
  thread: 'worker-1',
  system: 'You book tables.',
}

describe('turnOf', () => {
  it('reads messages with the system prompt first, tools and thread', () => {
    const turn = turnOf(TURN)
    expect(turn?.talks.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(turn?.tools?.map(({ name }) => name)).toEqual(['find_table'])
    expect(turn?.thread).toBe('worker-1')
  })

  it.each([
    [{ messages: [{ role: 'user', content: 'x' }] }],
    [{ messages: ['x'], thread: 'a' }],
    [{ messages: [], thread: 'a', more: 1 }],
    [null],
    ['text'],
  ])('is null for %j', (data) => {
    expect(turnOf(data)).toBeNull()
  })
})

describe('answerOf', () => {
  it('reads calls that have no arguments', () => {
    expect(answerOf({ text: '', tool_calls: [{ name: 'list_files', id: 'c' }] })?.calls[0]).toMatchObject({
      name: 'list_files',
      arguments: {},
    })
  })

  it.each([[{ text: 'x' }], [{ text: 'x', tool_calls: [7] }], [{ text: 'x', tool_calls: [], more: 1 }], [[]]])(
    'is null for %j',
    (data) => {
      expect(answerOf(data)).toBeNull()
    },
  )
})

describe('spells', () => {
  it('knows a text and a JSON text that are the action', () => {
    expect(spells('left', 'left')).toBe(true)
    expect(spells('{"text": "", "tool_calls": []}', { text: '', tool_calls: [] })).toBe(true)
    expect(spells('{"text": "x"}', { text: 'y' })).toBe(false)
    const call = { name: 'find', arguments: { n: 1 } }
    const action = { text: '', tool_calls: [{ ...call, id: 'call_0' }] }
    expect(spells(JSON.stringify({ text: '', tool_calls: [call] }), action)).toBe(true)
    expect(spells(JSON.stringify({ text: '', tool_calls: [{ ...call, name: 'other' }] }), action)).toBe(false)
    expect(spells('', '')).toBe(false)
  })
})

describe('a turn as content', () => {
  it('shows a conversation, and what the tools do when asked', async () => {
    render(<ContentView data={TURN} type="application/json" />)
    expect(screen.getByText('Book a table.')).toBeTruthy()
    expect(screen.getByText('find_table')).toBeTruthy()
    expect(screen.queryByText('Looks for one.')).toBeNull()
    await userEvent.click(screen.getByRole('button', { name: 'Show descriptions' }))
    expect(screen.getByText('Looks for one.')).toBeTruthy()
  })

  it('shows an answer by its words and calls', () => {
    render(<ContentView data={{ text: 'I look.', tool_calls: [{ name: 'find', arguments: { n: 4 } }] }} type="" />)
    expect(screen.getByText('I look.')).toBeTruthy()
    expect(screen.getByText('find')).toBeTruthy()
  })
})
