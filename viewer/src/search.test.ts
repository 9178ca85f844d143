import { expect, it } from 'vitest'
import { index, number, oneOf, readSearch, someOf, text, texts, writeSearch } from './search'

it('comes back as it was written, lists by repeating the key', () => {
  const written = writeSearch({
    state: ['failed', 'running'],
    q: 'a b&c',
    page: 2,
    none: undefined,
    empty: '',
    off: false,
  })
  expect(written).toBe('?state=failed&state=running&q=a+b%26c&page=2')
  expect(readSearch(written)).toEqual({ state: ['failed', 'running'], q: 'a b&c', page: '2' })
})

it('is empty when nothing is asked for', () => {
  expect(writeSearch({ q: undefined, state: [] })).toBe('')
})

it('reads values with their types and drops what does not fit', () => {
  expect([text('a'), text(''), text(['b', 'c'])]).toEqual(['a', undefined, 'b'])
  expect([texts('a'), texts(['a', 'a', 'b']), texts(undefined)]).toEqual([['a'], ['a', 'b'], undefined])
  expect([number('0.5'), number('x'), number(undefined)]).toEqual([0.5, undefined, undefined])
  expect([index('3'), index('-1'), index('1.5')]).toEqual([3, undefined, undefined])
  expect([oneOf('raw', ['raw', 'text']), oneOf('other', ['raw', 'text'])]).toEqual(['raw', undefined])
  expect(someOf(['failed', 'bogus'], ['failed', 'running'])).toEqual(['failed'])
})
