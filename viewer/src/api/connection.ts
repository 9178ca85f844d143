/** Whether the server is there, as the last request or live stream found it. */
import { useSyncExternalStore } from 'react'

/** `live` while a stream is open, `lost` when the server does not answer. */
type Connection = 'ok' | 'live' | 'lost'

let reachable = true
let streams = 0
const listeners = new Set<() => void>()

function current(): Connection {
  if (!reachable) return 'lost'
  return streams > 0 ? 'live' : 'ok'
}

function change(action: () => void): void {
  const before = current()
  action()
  if (current() !== before) for (const listener of listeners) listener()
}

/** Say that the server answered, or did not. */
export function noteReachable(found: boolean): void {
  change(() => {
    reachable = found
  })
}

/** Say that a live stream was opened (+1) or closed (-1). */
export function noteStream(by: 1 | -1): void {
  change(() => {
    streams += by
    if (by > 0) reachable = true
  })
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The state of the connection, for the top bar. */
export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, current)
}
