/** What can be done to a run. Each action tells how it went and brings the page up to date. */

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { patch, post } from '../api/client'
import { useToast } from '../parts/toast'
import { place } from '../place'
import { runQuery } from './useRun'

/** Something to do: `run` does it, `busy` while that goes on. */
export interface Action<Input = void> {
  run: (input: Input) => void
  busy: boolean
}

/** The actions of one run; `onStarted` is called when another process has taken up work on it. */
export function useRunActions(runId: string, onStarted: () => void) {
  const client = useQueryClient()
  const params = { run_id: runId }
  const fresh = () => client.invalidateQueries({ queryKey: runQuery(runId).queryKey })
  const started = () => {
    onStarted()
    return fresh()
  }
  return {
    fresh,
    stop: useAction(
      () => post('/api/runs/{run_id}/stop', { params }),
      'Stopping. Episodes in progress end first.',
      fresh,
    ),
    resume: useAction(
      (retryFailed: boolean) => post('/api/runs/{run_id}/resume', { params, query: { retry_failed: retryFailed } }),
      'Run resumed.',
      started,
    ),
    rescore: useAction(
      () => post('/api/runs/{run_id}/rescore', { params }),
      // A server answers when it has graded; on a laptop a process of its own begins.
      place.mode === 'server' ? 'Run rescored.' : 'Rescoring started.',
      started,
    ),
    show: useAction(
      (visibility: 'private' | 'gallery_public') => patch('/api/runs/{run_id}', { params, body: { visibility } }),
      'Visibility changed.',
      fresh,
    ),
  }
}

function useAction<Input = void>(
  act: (input: Input) => Promise<unknown>,
  done: string,
  then: () => Promise<unknown>,
): Action<Input> {
  const toast = useToast()
  const { mutate, isPending } = useMutation({
    mutationFn: act,
    onSuccess: async () => {
      toast({ text: done, tone: 'good' })
      await then()
    },
    onError: (error) => toast({ text: error.message, tone: 'bad' }),
  })
  return { run: mutate, busy: isPending }
}
