/** What is known of the columns of a dataset, in words. */
import type { Schema } from '../api/types'
import { count, measure, plural } from '../format'

type Column = Schema<'DatasetColumn'>

/** A whole number in full unless it is large, another one in short. */
function figure(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? count(value) : measure(value)
}

/** The types of the values; with their numbers where there are several. */
export function typesOf({ types }: Column): string {
  const found = Object.entries(types)
  return found.map(([type, amount]) => (found.length > 1 ? `${count(amount)} ${type}` : type)).join(', ') || '–'
}

/** Rows without a value, by why they have none. */
export function gapsOf(column: Column): string {
  const found = (['missing', 'null', 'empty'] as const).filter((kind) => column[kind] > 0)
  return found.map((kind) => `${count(column[kind])} ${kind}`).join(', ') || 'none'
}

/** The lengths of texts and the range of numbers. */
export function rangeOf({ lengths, range }: Column): string {
  if (range) {
    if (range.min === range.max) return `always ${figure(range.min)}`
    return `${figure(range.min)} to ${figure(range.max)}, mean ${figure(range.mean)}`
  }
  if (!lengths) return '–'
  if (lengths.min === lengths.max) return plural(lengths.min, 'character')
  return `${count(lengths.min)} to ${count(lengths.max)} characters, median ${figure(lengths.median)}`
}

/** The role that each column has. */
export function rolesByColumn(roles: Readonly<Record<string, readonly string[]>>): ReadonlyMap<string, string> {
  const named = Object.entries(roles).flatMap(([role, names]) => names.map((name) => [name, role] as const))
  return new Map(named.map(([name, role]) => [name, role.replace('_', ' ')]))
}
