import { expect, it } from 'vitest'
import { nextPage } from './next'

it.each([
  ['/teams?join=AB', '/teams?join=AB'],
  [undefined, '/'],
  ['', '/'],
  ['https://elsewhere.example/', '/'],
  ['//elsewhere.example', '/'],
  ['/\\elsewhere.example', '/'],
  ['/\t/elsewhere.example', '/'],
  ['javascript:alert(1)', '/'],
])('goes on from %s with %s', (given, page) => {
  expect(nextPage(given)).toBe(page)
})
