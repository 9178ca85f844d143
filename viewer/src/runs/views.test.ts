import { expect, it } from 'vitest'
import { groupText, readGroup, readView, viewText } from './views'

it('keeps all of a search', () => {
  const search = { model: ['a', 'b&c=d'], q: 'ü "x"', sort: '-score', by: 'none', columns: ['score'] } as const
  expect(readView(viewText({ ...search, model: [...search.model], columns: [...search.columns] }))).toEqual(search)
})

it('writes equal searches alike', () => {
  expect(viewText({ q: 'a', tag: ['t'] })).toBe(viewText({ tag: ['t'], q: 'a' }))
})

it('leaves out what it does not know', () => {
  expect(readView('nonsense=1&by=planet&q=a')).toEqual({ q: 'a' })
})

it('tells groups of a run from views of the list', () => {
  const group = { run: 'r1', said: '"per week" -b&c in:reply' }
  expect(readGroup(groupText(group))).toEqual(group)
  expect(readGroup('benchmark=gsm8k&q=said')).toBeUndefined()
})
