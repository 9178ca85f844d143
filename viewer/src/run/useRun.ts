/** A run that stays true while it goes on. */

import { notifyManager, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { get } from '../api/client'
import { type LiveEvent, useLive } from '../api/live'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { place } from '../place'
import { isRunChange, isTurn } from './change'
import { isGoing, stateOf } from './headline'

const EVENTS = ['runs']

/** How long (ms) what is shown of a run that goes on may be old. A server has hundreds of people looking at one run. */
const PATIENCE = place.mode === 'server' ? 4_000 : 2_500

/** How often (ms) a run that does not go on is read again: other runs change how it compares with the best. */
const REST = 15_000

/** The query of a run. */
export function runQuery(runId: string) {
  return documentQuery('/api/runs/{run_id}', { params: { run_id: runId } })
}

/** The query of a run's charts. */
export function seriesQuery(runId: string) {
  return documentQuery('/api/runs/{run_id}/series', { params: { run_id: runId } })
}

/** The query of a run's charts with how its score settled and what sets passed episodes apart. */
export function curvesQuery(runId: string) {
  return documentQuery('/api/runs/{run_id}/series', { params: { run_id: runId }, query: { curves: true } })
}

/** Whether a query key belongs to something of this run. */
function isOfRun([path, params]: readonly unknown[], runId: string): boolean {
  return typeof path === 'string' && path.startsWith('/api/runs/{run_id}') && runOf(params) === runId
}

function runOf(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'run_id' in params ? params.run_id : undefined
}

/**
 * Read a run and listen to it while `watch` says so or it goes on. The stream tells that there is something new; all that
 * the page shows of the run is then read and shown at once, at most every `PATIENCE`, when the run begins or ends at once.
 */
export function useRun(runId: string, watch: boolean) {
  const client = useQueryClient()
  const query = useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state: { data } }) => (source.live && data !== undefined && !isGoing(data) ? REST : false),
  })
  const state = query.data && stateOf(query.data)
  const going = state === 'running' || state === 'pending'
  const renew = useSnapshots(runId)

  const receive = useCallback(
    ({ data }: LiveEvent) => {
      const known = client.getQueryData(runQuery(runId).queryKey)
      if (isRunChange(data) && known !== undefined) renew(isTurn(known, data))
    },
    [client, runId, renew],
  )
  const path = source.live && (going || watch) ? `/api/runs/${encodeURIComponent(runId)}/live` : null
  const stream = useLive(path, EVENTS, receive)
  return { ...query, going, stream }
}

/**
 * A function that takes a snapshot of a run: at most every `PATIENCE`; at a turn at once, and once more after that, since
 * a server closes its books when the record has ended.
 */
function useSnapshots(runId: string): (turn: boolean) => void {
  const client = useQueryClient()
  const work = useRef<{ timer?: ReturnType<typeof setTimeout>; abort?: AbortController; at: number }>({
    at: Date.now(),
  })
  useEffect(() => {
    const mine = work.current
    return () => {
      clearTimeout(mine.timer)
      mine.abort?.abort()
    }
  }, [])
  return useCallback(
    (turn: boolean) => {
      const mine = work.current
      const take = () => {
        mine.abort?.abort()
        mine.abort = new AbortController()
        mine.timer = undefined
        mine.at = Date.now()
        void snapshot(client, runId, mine.abort.signal)
      }
      if (turn) {
        clearTimeout(mine.timer)
        take()
        if (place.mode === 'server') mine.timer = setTimeout(take, PATIENCE)
      } else if (mine.timer === undefined) {
        mine.timer = setTimeout(take, Math.max(0, mine.at + PATIENCE - Date.now()))
      }
    },
    [client, runId],
  )
}

/** Read every document of a run that is shown, each once, and show them together: no part is older than another. */
async function snapshot(client: QueryClient, runId: string, signal: AbortSignal): Promise<void> {
  const ofRun = client.getQueryCache().findAll({ predicate: ({ queryKey }) => isOfRun(queryKey, runId) })
  const shown = ofRun.filter((query) => query.isActive() && query.queryKey.length === 3)
  const read = await Promise.allSettled(
    shown.map(({ queryKey: [path, params, query] }) => get(path as never, { params, query, signal } as never)),
  )
  if (signal.aborted) return
  notifyManager.batch(() => {
    for (const query of ofRun) {
      const found = read[shown.indexOf(query)]
      if (found?.status === 'fulfilled') client.setQueryData(query.queryKey, found.value)
      // What failed is asked for by its own query, which shows why; lists are read page by page.
      else void client.invalidateQueries({ queryKey: query.queryKey, exact: true })
    }
  })
}
