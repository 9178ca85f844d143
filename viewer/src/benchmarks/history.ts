/** The scores of a benchmark over time, one line for each model with its agent. */

import type { Schema } from '../api/types'

export type Reading = Schema<'HistoryPoint'>

/** The readings of one model with one agent, oldest first. */
export interface Line {
  key: string
  model: string
  agent: string
  readings: Reading[]
}

/** Group readings into lines, the model with the latest reading first. Readings without a value draw nothing. */
export function historyLines(history: readonly Reading[]): Line[] {
  const lines = new Map<string, Line>()
  for (const reading of history) {
    if (reading.value === null) continue
    const key = JSON.stringify([reading.model, reading.agent])
    const line = lines.get(key) ?? { key, model: reading.model, agent: reading.agent, readings: [] }
    line.readings.push(reading)
    lines.set(key, line)
  }
  const all = [...lines.values()]
  for (const line of all) line.readings.sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at))
  return all.sort((one, other) => latest(other) - latest(one))
}

function latest(line: Line): number {
  return Date.parse(line.readings.at(-1)?.created_at ?? '')
}
