import type { Schema } from '../api/types'
import { Status } from './Status'

/** The state of a run beside its numbers, unless it is finished: only then do these stand without a word. */
export function Unfinished({ run }: { run: Pick<Schema<'RunSummary'>, 'state' | 'stop_requested'> }) {
  return run.state === 'finished' ? null : <Status state={run.state} stopping={run.stop_requested} />
}
