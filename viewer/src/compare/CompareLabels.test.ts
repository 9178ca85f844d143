import { expect, it } from 'vitest'
import { runFixture } from '../runs/runFixture'
import { labelsOf } from './CompareLabels'

const names = (...runs: Parameters<typeof runFixture>[0][]) =>
  [...labelsOf(runs.map((changes, index) => runFixture({ id: `${index}000000-0000-7000`, ...changes }))).values()].map(
    ({ letter, name }) => `${letter} ${name}`,
  )

it('calls runs by their models where those differ', () => {
  expect(names({ model: 'openai/a@http://h:1/v1' }, { model: 'openai/b@http://h:1/v1' })).toEqual([
    'A openai/a',
    'B openai/b',
  ])
})

it('calls runs of one model by their names', () => {
  expect(names({ name: 'before' }, { name: 'after' })).toEqual(['A before', 'B after'])
})

it('tells servers of the same model apart', () => {
  expect(names({ model: 'a@http://h:1/v1' }, { model: 'a@http://h:2/v1' })).toEqual(['A a at h:1', 'B a at h:2'])
})

it('falls back to ids where nothing differs', () => {
  expect(names({ model: 'm' }, { model: 'm' })).toEqual(['A m 0000000-0000-', 'B m 1000000-0000-'])
})
