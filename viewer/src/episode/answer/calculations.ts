/** Calculations of worked solutions, and those of an answer beside them. */

export interface Calculation {
  formula: string
  result: string
  /** The words that follow it on its line. */
  of: string
}

const MARKED = /<<([^<>=]{1,200})=([^<>]{1,60})>>\s*(?:\$?-?[\d,]*\.?\d+)?([^\n<]{0,80})/g

/** The calculations that a text marks as `<<16-3=13>>13 eggs`, in order. */
export function calculationsIn(text: string): Calculation[] {
  return [...text.matchAll(MARKED)].map(([, formula = '', result = '', of = '']) => ({
    formula: spaced(formula),
    result: result.trim(),
    of: of.replace(/[.,;]?\s*$/, '').trim(),
  }))
}

/** The text without its marks: `16 - 3 = <<16-3=13>>13` reads `16 - 3 = 13`. */
export function withoutMarks(text: string): string {
  return text.replace(/<<[^<>]{1,260}>>/g, '')
}

/** Steps of both side by side, and the first that differs; 0 if none does. */
export function alignedSteps(reference: readonly Calculation[], given: readonly Calculation[]) {
  const steps = Array.from({ length: Math.max(reference.length, given.length) }, (_, place) => ({
    number: place + 1,
    reference: reference[place],
    given: given[place],
  }))
  const first = steps.find(({ reference: one, given: other }) => !same(one, other))?.number ?? 0
  return { steps, first }
}

/** Whether two calculations come to the same. */
export function same(one: Calculation | undefined, other: Calculation | undefined): boolean {
  return one !== undefined && other !== undefined && value(one.result) === value(other.result)
}

function value(text: string): number | string {
  const found = Number(text.replace(/[$,\s]/g, ''))
  return Number.isFinite(found) && text.trim() !== '' ? found : text
}

function spaced(formula: string): string {
  return formula.replace(/\s+/g, '').replace(/(?<=[\d)%])([-+*/])/g, (sign) => ` ${SIGNS[sign] ?? sign} `)
}

const SIGNS: Record<string, string> = { '*': '×', '/': '÷', '-': '−' }
