import { expect, test } from 'vitest'
import type { Me } from '../session/person'
import { furtherPages, pagesFor } from './barPages'

const MEMBER = { type: 'member', role: 'member' } as Me
const ADMIN = { type: 'member', role: 'admin' } as Me

test('a member of a server has the pages of a laptop, and those of the server beside them', () => {
  const labels = pagesFor('server', MEMBER).map(({ label }) => label)
  expect(labels).toEqual(['Runs', 'Compare', 'Benchmarks', 'Rollouts', 'Datasets', 'Reviews', 'Gallery'])
  expect(pagesFor('server', ADMIN).at(-1)?.label).toBe('Admin')
})

test('no page and no shortcut is there twice', () => {
  const all = [...pagesFor('server', ADMIN), ...furtherPages('server', ADMIN)]
  expect(new Set(all.map(({ to }) => to)).size).toBe(all.length)
  expect(new Set(all.map(({ keys }) => keys)).size).toBe(all.length)
})

test('a visitor is shown what is public', () => {
  const labels = pagesFor('server', { type: 'anonymous' } as Me).map(({ label }) => label)
  expect(labels).toEqual(['Gallery', 'Leaderboards', 'Compare'])
  expect(furtherPages('server', { type: 'guest' } as Me)).toEqual([])
})
