import { expect, it } from 'vitest'
import { fullName, listName } from './runName'

it('shortens only names that were made of a time', () => {
  const named = (name: string) => listName({ id: '01a22285-e417-76a0', name })
  expect(named('sums-20261128T141849Z-0616bd1e')).toBe('sums…0616bd1e')
  expect(named('nightly-20261128T030000Z')).toBe('nightly…1128T030000Z')
  expect(named('nightly-20261128')).toBe('nightly-20261128')
  expect(named('')).toBe('01a22285-e417')
})

it('tells the runs of a sweep apart by benchmark and model', () => {
  const title = { given: '', benchmark: 'Grid world', model: 'small', differs: '60 seeds' }
  expect(fullName({ id: '01', name: 'sweep', title })).toBe('sweep · Grid world · small')
  expect(fullName({ id: '01', name: '', title })).toBe('Grid world · small · 60 seeds')
})
