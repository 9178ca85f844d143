import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { useLive } from '../api/live'
import { source } from '../api/source'
import { arrivals, type Change } from './page'
import { heldRuns, patchLists } from './patchLists'
import { matches, type RunsSearch } from './search'

const NAMES = ['runs']

/** Put live changes into the lists that are held, in place; return the ids of runs of the search begun after `readAt`. */
export function useRunChanges(search: RunsSearch, readAt: number): { arrived: readonly string[]; forget: () => void } {
  const client = useQueryClient()
  const [arrived, setArrived] = useState<readonly string[]>([])
  const receive = useCallback(
    ({ data }: { data: unknown }) => {
      const change = data as Change
      const known = heldRuns(client)
      patchLists(client, change)
      const gone = new Set(change.deleted)
      const wanted = { ...change, runs: change.runs.filter((run) => matches(run, search)) }
      const fresh = arrivals(wanted, known, readAt - UNSEEN)
      setArrived((before) => {
        const next = [...new Set([...before, ...fresh])].filter((id) => !gone.has(id))
        return next.length === before.length && next.every((id, index) => id === before[index]) ? before : next
      })
    },
    [client, readAt, search],
  )
  useLive(source.live ? '/api/live' : null, NAMES, receive)
  const forget = useCallback(() => setArrived([]), [])
  return { arrived, forget }
}

/**
 * How long before a list arrived a run may have begun that the list does not know, ms. The list was read before it
 * arrived, a run is recorded after it began, and both take seconds on a busy machine; clocks differ, too.
 * A run of this time that is on a page which is not held costs one more reading of the list.
 */
const UNSEEN = 60_000
