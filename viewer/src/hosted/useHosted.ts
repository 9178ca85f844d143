/** What a server knows of a run beside its record: whose it is, who may see it. */

import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'

/** How often (ms) it is read again in case the stream, which tells when the run begins and ends, is lost. */
const LOOK_AGAIN = 30_000

/** The run as the server shows it; read again while it goes on. */
export function useHosted(runId: string) {
  return useQuery({
    ...documentQuery('/v1/runs/{run_id}', { params: { run_id: runId } }),
    refetchInterval: ({ state }) => (isGoing(state.data) ? LOOK_AGAIN : false),
  })
}

/** Whether a run waits or is played. */
export function isGoing(run: Schema<'Run'> | undefined): boolean {
  return run?.status === 'pending' || run?.status === 'running'
}
