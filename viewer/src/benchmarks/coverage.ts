/** How much of a benchmark was run, in words. */
import type { Schema } from '../api/types'
import { count, plural } from '../format'

/** A word, the numbers behind it, and what they mean. */
interface CoverageWords {
  state: Schema<'Coverage'>['state']
  word: string
  numbers: string
  title: string
}

/** Say how much of a benchmark was run. */
export function coverageWords({ state, tasks, total }: Schema<'Coverage'>): CoverageWords {
  switch (state) {
    case 'never':
      return { state, word: 'never run', numbers: '', title: 'No finished run with a score' }
    case 'partly':
      return {
        state,
        word: 'subset',
        numbers: total === null ? plural(tasks, 'task') : `${count(tasks)} of ${plural(total, 'task')}`,
        title: 'No run has scored all tasks yet; scores on a subset have wider intervals',
      }
    case 'whole':
      return {
        state,
        word: 'all',
        numbers: plural(tasks, 'task'),
        title: 'At least one run has scored all tasks',
      }
    case 'endless':
      if (tasks === 0) return { state, word: 'not scored', numbers: '', title: 'No finished run with a score' }
      return {
        state,
        word: 'run',
        numbers: plural(tasks, 'task'),
        title: 'Tasks are generated from seeds, so their number is unlimited',
      }
  }
}

/** Whether a benchmark can run on this machine, as far as its requirements tell. */
export function readiness(lacking: readonly string[] | null): { word: string; title: string; ready: boolean | null } {
  if (lacking === null) return { word: '', title: '', ready: null }
  if (lacking.length === 0) return { word: 'ready', title: 'All requirements are met', ready: true }
  return { word: `${plural(lacking.length, 'requirement')} missing`, title: lacking.join('\n'), ready: false }
}

/** How soon (ms) it is asked again what this machine has; docker may take seconds to say so. */
export const LOOK_AGAIN_MS = 1_000

/** Whether the server is still looking at what this machine has. */
export function looking({ command, lacking }: Pick<Schema<'BenchmarkSummary'>, 'command' | 'lacking'>): boolean {
  return command !== null && lacking === null
}
