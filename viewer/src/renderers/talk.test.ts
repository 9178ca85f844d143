import { expect, test } from 'vitest'
import { chatOf, saidIn, talkOf, toolCallOf } from './talk'

test('messages of every provider are read', () => {
  expect(talkOf({ role: 'user', content: 'hi' })?.parts).toEqual([{ kind: 'text', text: 'hi' }])
  const parts = [
    { type: 'text', text: 'look' },
    { type: 'image', media_type: 'image/png', data: 'AAAA', url: '' },
  ]
  expect(talkOf({ role: 'user', content: parts })?.parts).toEqual([
    { kind: 'text', text: 'look' },
    { kind: 'image', image: 'AAAA', type: 'image/png' },
  ])
  const url = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]
  expect(talkOf({ role: 'user', content: url })?.parts[0]?.image).toBe('data:image/png;base64,AAAA')
})

test('calls of tools are read with their arguments parsed', () => {
  expect(toolCallOf({ id: '1', function: { name: 'search', arguments: '{"q":"x"}' } })).toMatchObject({
    id: '1',
    name: 'search',
    arguments: { q: 'x' },
  })
  expect(toolCallOf({ name: 'f', input: {}, output: 'done' })).toMatchObject({ arguments: {}, result: 'done' })
  expect(toolCallOf({ name: 'f', arguments: 'no json' })?.arguments).toBe('no json')
  expect(toolCallOf({ name: 'just a name' })).toBeNull()
})

test('a list of messages is a conversation, another list is not', () => {
  expect(
    chatOf({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    })?.map(saidIn),
  ).toEqual(['a', 'b'])
  expect(chatOf([{ role: 'king', content: 'x' }])).toBeNull()
  expect(chatOf([1])).toBeNull()
  expect(chatOf({ messages: 'none' })).toBeNull()
})
