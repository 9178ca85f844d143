import type { Schema } from '../api/types'

/** What a sign-in is called, and the code of one. */

const BROWSERS: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(Headless)?Chrom(e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: [RegExp, string][] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux/, 'Linux'],
]
const LONGEST = 60

/** The browser and the system that it named, or what a program called itself. */
export function deviceWords({ kind, label }: Pick<Schema<'SessionDocument'>, 'kind' | 'label'>): string {
  const known = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(label))?.[1]
  const browser = known(BROWSERS)
  if (browser && label.startsWith('Mozilla/')) return [browser, known(SYSTEMS)].filter(Boolean).join(' on ')
  if (label === '') return kind === 'program' ? 'Script' : 'Unknown browser'
  return label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label
}

/** The code of a program as its terminal shows it, however it was typed. */
export function codeWords(code: string): string {
  return code
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .replace(/^(.{4})(?=.)/, '$1-')
}
