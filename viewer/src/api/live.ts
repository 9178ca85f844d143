/** Server-sent events with reconnection. */
import { useEffect, useRef, useState } from 'react'
import { noteReachable, noteStream } from './connection'

/** One event: its name (`message` when it has none), the JSON it carried, its id. */
export interface LiveEvent {
  name: string
  data: unknown
  id: string
}

/** Whether events arrive; `lost` while trying again. */
type LiveState = 'connecting' | 'connected' | 'lost'

/** What a subscription tells. */
interface LiveListener {
  onEvent: (event: LiveEvent) => void
  onState?: (state: LiveState) => void
}

const FIRST_WAIT = 500
const LONGEST_WAIT = 15_000

/**
 * Listen to the record's stream at `path` for the named events until the returned function is called.
 * After a loss it tries again after 0.5 s, 1 s, 2 s … 15 s; when the page becomes visible or online, at once.
 */
export function subscribe(path: string, names: readonly string[], listener: LiveListener): () => void {
  let stream: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = FIRST_WAIT
  let open = false
  let lastId = ''

  const mark = (now: boolean) => {
    if (now !== open) noteStream(now ? 1 : -1)
    open = now
  }
  const receive = (event: MessageEvent<string>) => {
    if (event.lastEventId) lastId = event.lastEventId
    const data = parsed(event.data)
    if (data !== undefined) listener.onEvent({ name: event.type, data, id: event.lastEventId })
  }
  const lose = () => {
    stream?.close()
    mark(false)
    noteReachable(false)
    listener.onState?.('lost')
    timer = setTimeout(connect, wait)
    wait = Math.min(wait * 2, LONGEST_WAIT)
  }
  const connect = () => {
    clearTimeout(timer)
    const target = new URL(`.${path}`, document.baseURI)
    if (lastId) target.searchParams.set('last_event_id', lastId)
    stream = new EventSource(target)
    stream.onopen = () => {
      wait = FIRST_WAIT
      mark(true)
      listener.onState?.('connected')
    }
    stream.onerror = lose
    for (const name of new Set(['message', ...names])) stream.addEventListener(name, receive)
  }
  const hurry = () => {
    if (document.visibilityState === 'visible' && !open && stream?.readyState === EventSource.CLOSED) connect()
  }

  document.addEventListener('visibilitychange', hurry)
  window.addEventListener('online', hurry)
  connect()
  return () => {
    clearTimeout(timer)
    stream?.close()
    mark(false)
    document.removeEventListener('visibilitychange', hurry)
    window.removeEventListener('online', hurry)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Subscribe while the component is shown; `path` null means not now. `names` must be the same on every render. */
export function useLive(path: string | null, names: readonly string[], onEvent: (event: LiveEvent) => void): LiveState {
  const [state, setState] = useState<LiveState>('connecting')
  const latest = useRef(onEvent)
  useEffect(() => {
    latest.current = onEvent
  }, [onEvent])
  const wanted = names.join(' ')
  useEffect(() => {
    if (path === null) return
    setState('connecting')
    return subscribe(path, wanted.split(' ').filter(Boolean), {
      onEvent: (event) => latest.current(event),
      onState: setState,
    })
  }, [path, wanted])
  return state
}
