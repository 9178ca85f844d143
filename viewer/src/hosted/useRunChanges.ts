/** Changing a run of a server. */

import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { del, patch, post } from '../api/client'
import { useChange } from '../parts/useChange'

/** What is done beside a change: a dialog closed, the run's page told to listen. */
export interface RunChangeOptions {
  close: () => void
  onStarted: () => void
}

/** The changes of a run. */
export function useRunChanges(runId: string, { close, onStarted }: RunChangeOptions) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const params = { run_id: runId }
  const fresh = () => void client.invalidateQueries({ queryKey: ['/api/runs/{run_id}'] })
  const cancel = useChange(() => post('/api/runs/{run_id}/stop', { params }), {
    done: 'Cancelling. Episodes in progress end first.',
    after: fresh,
  })
  const resume = useChange(() => post('/api/runs/{run_id}/resume', { params }), {
    done: 'Run queued again.',
    after: () => {
      onStarted()
      fresh()
    },
  })
  const show = useChange(
    (visibility: 'private' | 'gallery_public') => patch('/api/runs/{run_id}', { params, body: { visibility } }),
    { done: 'Visibility changed.', after: close },
  )
  const remove = useChange(() => del('/api/runs/{run_id}', { params }), {
    done: 'Run deleted.',
    after: () => void navigate({ to: '/' }),
  })
  return { cancel, resume, show, remove }
}
