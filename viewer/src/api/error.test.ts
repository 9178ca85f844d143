import { expect, test } from 'vitest'
import { withPages } from './error'

test('a refusal names the page where a terminal has a command', () => {
  expect(withPages("you are not a member of team 'x'; `mesocosm team list` shows yours")).toBe(
    "you are not a member of team 'x'; the page “Teams” shows yours",
  )
  expect(withPages('environment e1 is not ready (failed); see `mesocosm env logs e1`')).toBe(
    'environment e1 is not ready (failed); its page under “Environments” shows why',
  )
  expect(withPages('run r1 waits or runs already; look at it with `mesocosm run watch r1`')).toBe(
    'run r1 waits or runs already; its page shows the progress',
  )
})

test('a command that no page stands for stays', () => {
  const words = 'run `mesocosm init` in the repository, commit and push what it writes, and submit again'
  expect(withPages(words)).toBe(words)
})
