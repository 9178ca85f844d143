/** A run that stays true while it goes on. */

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { type LiveEvent, useLive } from '../api/live'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { place } from '../place'
import { changedRun, isRunChange, isTurn } from './change'
import { isGoing, stateOf } from './headline'

const EVENTS = ['runs']

/**
 * How long (ms) what the stream does not carry may be old while a run goes on: failures and charts, episodes. A
 * server has hundreds of people looking at one run.
 */
const PATIENCE = place.mode === 'server' ? 8_000 : 2_500

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

/** Whether a query key belongs to something of this run that its stream does not carry. */
function isOfRun([path, params]: readonly unknown[], runId: string): boolean {
  return typeof path === 'string' && path.startsWith('/api/runs/{run_id}') && runOf(params) === runId
}

function runOf(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'run_id' in params ? params.run_id : undefined
}

/**
 * Read a run and listen to it while `watch` says so or it goes on. Numbers move with the stream; what it does not carry
 * is read again at most every `PATIENCE`, and at once when the run begins or ends, with what a server knows of it.
 */
export function useRun(runId: string, watch: boolean) {
  const client = useQueryClient()
  const query = useQuery({
    ...runQuery(runId),
    refetchInterval: ({ state: { data } }) => (source.live && data !== undefined && !isGoing(data) ? REST : false),
  })
  const state = query.data && stateOf(query.data)
  const going = state === 'running' || state === 'pending'
  const refresh = useRefresh(runId)

  const receive = useCallback(
    ({ data }: LiveEvent) => {
      if (!isRunChange(data)) return
      const { queryKey } = runQuery(runId)
      const known = client.getQueryData(queryKey)
      if (known === undefined) return
      const turn = isTurn(known, data)
      client.setQueryData(queryKey, changedRun(known, data))
      refresh(turn)
    },
    [client, runId, refresh],
  )
  const path = source.live && (going || watch) ? `/api/runs/${encodeURIComponent(runId)}/live` : null
  const stream = useLive(path, EVENTS, receive)
  return { ...query, going, stream }
}

/**
 * A function that reads everything of a run again: at most every `PATIENCE`; at a turn at once, and once more after
 * that, since a server closes its books when the record has ended.
 */
function useRefresh(runId: string): (turn: boolean) => void {
  const client = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return useCallback(
    (turn: boolean) => {
      const read = () => {
        timer.current = undefined
        void client.invalidateQueries({ predicate: ({ queryKey }) => isOfRun(queryKey, runId) })
      }
      if (turn) {
        clearTimeout(timer.current)
        read()
        if (place.mode === 'server') timer.current = setTimeout(read, PATIENCE)
      } else if (timer.current === undefined) {
        timer.current = setTimeout(read, PATIENCE)
      }
    },
    [client, runId],
  )
}
