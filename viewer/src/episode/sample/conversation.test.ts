import { describe, expect, it } from 'vitest'
import type { Talk } from '../../renderers/talk'
import { conversationOf, messagesIn, type Said } from './conversation'

function talks(messages: unknown[]): Talk[] {
  return conversationOf(messages).map((said) => {
    if (said.kind !== 'talk') throw new Error('a message could not be loaded')
    return said.talk
  })
}

function words(said: Said[]): (string | undefined)[] {
  return said.map((one) => (one.kind === 'talk' ? `${one.talk.role}: ${one.talk.parts[0]?.text ?? ''}` : undefined))
}

const CALL = { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } }

describe('messages of chat completions', () => {
  it('have the results of tools in their calls', () => {
    const found = talks([
      { role: 'user', content: '1 + 1?' },
      { role: 'assistant', content: null, tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'c1', content: '2' },
      { role: 'assistant', content: 'two' },
    ])
    expect(found.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant'])
    expect(found[1]?.calls).toEqual([{ id: 'c1', name: 'add', arguments: { a: 1 }, result: '2' }])
  })

  it('keep a result that belongs to no call', () => {
    const found = talks([{ role: 'tool', tool_call_id: 'lost', content: '2' }])
    expect(found[0]).toMatchObject({ role: 'tool', answers: 'lost', parts: [{ kind: 'text', text: '2' }] })
  })

  it('keep a second result for the same call', () => {
    const result = { role: 'tool', tool_call_id: 'c1', content: '2' }
    expect(talks([{ role: 'assistant', tool_calls: [CALL] }, result, { ...result, content: '3' }])).toHaveLength(2)
  })

  it('show what was thought', () => {
    expect(talks([{ role: 'assistant', content: 'two', reasoning_content: 'easy' }])[0]?.reasoning).toBe('easy')
  })
})

describe('items of Responses', () => {
  it('of one turn make one message', () => {
    const found = talks([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: '1 + 1?' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'easy' }] },
      { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a": 1}' },
      { type: 'function_call_output', call_id: 'c1', output: '2' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
    ])
    expect(found.map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant'])
    expect(found[1]).toMatchObject({ reasoning: 'easy', calls: [{ name: 'add', result: '2' }] })
    expect(found[2]?.parts).toEqual([{ kind: 'text', text: 'two' }])
  })

  it('say that reasoning is hidden', () => {
    expect(talks([{ type: 'reasoning', summary: [], encrypted_content: 'x' }])[0]?.reasoning).toBe(
      'hidden by the provider',
    )
  })
})

describe('blocks', () => {
  it('of Strands are read with their results', () => {
    const found = talks([
      { role: 'user', content: [{ text: '1 + 1?' }] },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'easy' } } },
          { text: 'I add.' },
          { toolUse: { toolUseId: 't1', name: 'add', input: { a: 1 } } },
        ],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 't1', status: 'success', content: [{ json: [2] }] } }] },
    ])
    expect(found).toHaveLength(2)
    expect(found[1]).toMatchObject({
      reasoning: 'easy',
      parts: [{ kind: 'text', text: 'I add.' }],
      calls: [{ id: 't1', name: 'add', arguments: { a: 1 }, result: '[2]' }],
    })
  })

  it('of Anthropic are read with their results', () => {
    const found = talks([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'easy' },
          { type: 'tool_use', id: 't', name: 'add', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: '2' },
          { type: 'text', text: 'go on' },
        ],
      },
    ])
    expect(found[0]).toMatchObject({ reasoning: 'easy', calls: [{ name: 'add', result: '2' }] })
    expect(found[1]).toMatchObject({ role: 'user', parts: [{ kind: 'text', text: 'go on' }] })
  })
})

it('messages of LangChain have roles that people know', () => {
  const found = conversationOf([
    { type: 'human', content: '1 + 1?' },
    { type: 'ai', content: '', tool_calls: [{ id: 'c', name: 'add', args: { a: 1 } }] },
    { type: 'tool', tool_call_id: 'c', content: '2' },
    { type: 'ai', content: 'two' },
  ])
  expect(words(found)).toEqual(['user: 1 + 1?', 'assistant: ', 'assistant: two'])
})

it('what cannot be read stays as it is', () => {
  const odd = { speaker: 'me', words: 'hi' }
  expect(conversationOf([odd, 7, { role: 'user', content: 'a' }])).toMatchObject([
    { kind: 'unread', value: odd },
    { kind: 'unread', value: 7 },
    { kind: 'talk' },
  ])
})

it('messages are found in what a sample left, also in its text', () => {
  expect(messagesIn({ messages: [1], label: 'x' })).toEqual([1])
  expect(messagesIn('{"messages": []}')).toEqual([])
  expect(messagesIn({ prompt: [] })).toBeNull()
  expect(messagesIn(null)).toBeNull()
})
