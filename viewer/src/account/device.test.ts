import { expect, test } from 'vitest'
import { codeWords, deviceWords } from './device'

test('a browser is named with its system', () => {
  const label = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36'
  expect(deviceWords({ kind: 'browser', label })).toBe('Chrome on Linux')
  expect(deviceWords({ kind: 'browser', label: 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Firefox/140.0' })).toBe(
    'Firefox on Windows',
  )
})

test('a program is called what it called itself, clipped', () => {
  expect(deviceWords({ kind: 'program', label: 'mesocosm/1.0' })).toBe('mesocosm/1.0')
  expect(deviceWords({ kind: 'program', label: '' })).toBe('Script')
  expect(deviceWords({ kind: 'program', label: 'x'.repeat(200) })).toHaveLength(60)
})

test('a code is shown as the terminal shows it, however it was typed', () => {
  for (const typed of ['bcdfghjk', ' BCDF-GHJK ', 'bcdf ghjk']) expect(codeWords(typed)).toBe('BCDF-GHJK')
  expect(codeWords('bcd')).toBe('BCD')
})
