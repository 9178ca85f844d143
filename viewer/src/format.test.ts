import { describe, expect, it } from 'vitest'
import * as format from './format'

const NOW = Date.parse('2026-11-21T12:00:00Z')

function past(seconds: number): string {
  return new Date(NOW - seconds * 1000).toISOString()
}

describe('a measurement', () => {
  it.each([
    [0, '0.000'],
    [0.8123, '0.812'],
    [-0.5, '−0.500'],
    [12.34, '12.3'],
    [1234.5, '1,235'],
    [0.000123, '0.00012'],
    [null, '–'],
    [Number.POSITIVE_INFINITY, '∞'],
    [999_999, '999,999'],
    [-1_234_567_890, '−1.23B'],
  ])('%s reads %s', (value, text) => expect(format.measure(value)).toBe(text))
})

describe('a difference', () => {
  it.each([
    [0.031, '+0.031'],
    [-0.02, '−0.020'],
    [0, '0.000'],
  ])('%s reads %s', (value, text) => expect(format.signed(value)).toBe(text))
})

describe('a large count', () => {
  it.each([
    [950, '950'],
    [999.6, '1.00k'],
    [12_345, '12.3k'],
    [999_499, '999k'],
    [999_600, '1.00M'],
    [4_560_000, '4.56M'],
    [1_200_000_000, '1.20B'],
  ])('%s reads %s', (value, text) => expect(format.compact(value)).toBe(text))
})

describe('an amount of money', () => {
  it.each([
    [0, '$0'],
    [0.00001, '<$0.0001'],
    [0.0012, '$0.0012'],
    [0.123, '$0.123'],
    [12.345, '$12.35'],
    [1234.5, '$1,235'],
    [undefined, '–'],
    [1_234_567, '$1.23M'],
  ])('%s reads %s', (value, text) => expect(format.money(value)).toBe(text))
})

describe('a duration', () => {
  it.each([
    [0, '0 s'],
    [0.0012, '1.2 ms'],
    [0.085, '85 ms'],
    [12.34, '12.3 s'],
    [59.97, '1m 00s'],
    [245, '4m 05s'],
    [3599.7, '1h 00m'],
    [7620, '2h 07m'],
    [273_600, '3d 4h'],
  ])('%s seconds reads %s', (value, text) => expect(format.duration(value)).toBe(text))
})

describe('a share', () => {
  it.each([
    [0, '0%'],
    [0.0004, '<0.1%'],
    [0.0041, '0.4%'],
    [0.81, '81%'],
    [0.9999, '99.9%'],
    [1, '100%'],
  ])('%s reads %s', (value, text) => expect(format.percent(value)).toBe(text))
})

describe('a p value', () => {
  it.each([
    [0.0001, '<0.001'],
    [0.012, '0.012'],
    [0.43, '0.43'],
  ])('%s reads %s', (value, text) => expect(format.pValue(value)).toBe(text))
})

describe('an instant', () => {
  it.each([
    [past(1), 'just now'],
    [past(12), '12 s ago'],
    [past(300), '5 min ago'],
    [past(3 * 3600), '3 h ago'],
    [past(2 * 86_400), '2 d ago'],
    [past(-600), 'in 10 min'],
    ['2026-11-01T12:00:00Z', '1 Nov'],
    ['2025-11-01T12:00:00Z', '1 Nov 2025'],
    ['garbage', 'garbage'],
    [null, '–'],
  ])('%s reads %s', (value, text) => expect(format.relative(value, NOW)).toBe(text))

  it('reads in full with its zone', () => {
    expect(format.exactTime('2026-11-21T12:33:05.120Z')).toMatch(/^2026-11-2\d \d\d:\d\d:05\.120 [+-]\d\d:\d\d$/)
  })
})

describe('the other forms', () => {
  it('writes ticks with as few digits as say them', () => {
    expect([0, 0.2, -0.05, 0.30000000000000004, 12_000].map(format.tick)).toEqual(['0', '0.2', '−0.05', '0.3', '12.0k'])
  })

  it('writes sizes in bytes', () => {
    expect([900, 12_345, 4_560_000, 2e9].map(format.bytes)).toEqual(['900 B', '12.3 kB', '4.56 MB', '2.00 GB'])
  })

  it('writes intervals only when both ends are known', () => {
    expect([format.interval(0.1, 0.25), format.interval(null, 1)]).toEqual(['[0.100, 0.250]', ''])
    expect(format.interval(0.1, 0.25, true)).toBe('[0.100, 0.250] weak')
    expect(format.interval(0.50001, 0.50002)).toBe('[0.50001, 0.50002]')
    expect(format.interval(0.5, 0.5)).toBe('[0.500, 0.500]')
  })

  it('writes the number and the thing', () => {
    expect([format.plural(1, 'run'), format.plural(1200, 'run'), format.plural(2, 'try', 'tries')]).toEqual([
      '1 run',
      '1,200 runs',
      '2 tries',
    ])
  })

  it('keeps all digits of the exact value', () => {
    expect([format.exact(0.1234567), format.exact(1234567, 'tokens'), format.exact(null)]).toEqual([
      '0.1234567',
      '1,234,567 tokens',
      'no value',
    ])
  })

  it.each([
    ['there is no run "x"', 'There is no run "x"'],
    ['the name is too long', 'The name is too long'],
    ['mesocosm check found problems', 'mesocosm check found problems'],
    ['adapter.py does not start', 'adapter.py does not start'],
  ])('writes the message %s as a sentence', (message, words) => expect(format.sentence(message)).toBe(words))
})
