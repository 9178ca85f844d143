import { describe, expect, it } from 'vitest'
import tokens from './tokens.css?raw'

const COLOURS = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map((found) => [
    found[1] ?? '',
    [found[2] ?? '', found[3] ?? ''] as const,
  ]),
)

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}

function contrast(one: string, other: string, mode: 0 | 1): number {
  const [first, second] = [one, other].map((name) => luminance(COLOURS.get(name)?.[mode] ?? 'unknown')) as [
    number,
    number,
  ]
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05)
}

const SURFACES = ['canvas', 'surface', 'raised', 'sunken', 'hover', 'selected']
const TEXTS = ['ink', 'muted', 'accent', 'accent-strong', 'good', 'bad', 'warn', 'live', 'idle']
const SERIES = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `series-${number}`)

describe.each([
  ['light', 0],
  ['dark', 1],
] as const)('the %s theme', (_name, mode) => {
  it.each(TEXTS.flatMap((text) => SURFACES.map((surface) => [text, surface])))(
    '%s is readable on %s',
    (text, surface) => {
      expect(contrast(text, surface, mode)).toBeGreaterThanOrEqual(4.5)
    },
  )

  it.each(['good', 'bad', 'warn', 'live', 'idle'])('%s is readable on its soft background', (name) => {
    expect(contrast(name, `${name}-soft`, mode)).toBeGreaterThanOrEqual(4.5)
    expect(contrast('ink', `${name}-soft`, mode)).toBeGreaterThanOrEqual(4.5)
  })

  it('text on the accent and on a mark is readable', () => {
    expect(contrast('on-accent', 'accent', mode)).toBeGreaterThanOrEqual(4.5)
    expect(contrast('ink', 'mark', mode)).toBeGreaterThanOrEqual(4.5)
  })

  it.each(SERIES)('%s is visible on every surface', (series) => {
    for (const surface of SURFACES) expect(contrast(series, surface, mode)).toBeGreaterThanOrEqual(3)
  })

  it('borders of controls are visible', () => {
    expect(contrast('line-strong', 'surface', mode)).toBeGreaterThanOrEqual(3)
  })
})
