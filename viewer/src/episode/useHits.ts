import { useEffect, useState } from 'react'
import { get } from '../api/client'
import { brief, plain } from '../renderers/marks'
import type { EventDocument } from './events'

/** A place where the text was found. */
interface Hit {
  seq: number
  step: number
  kind: string
  before: string
  found: string
  after: string
}

/** What has been found so far. */
export interface Hits {
  items: Hit[]
  /** Events looked at, of `total`. */
  searched: number
  total: number
  done: boolean
  /** Whether the search was ended because there are so many. */
  many: boolean
  error: string | null
}

const MOST = 2_000
const NOTHING: Hits = { items: [], searched: 0, total: 0, done: true, many: false, error: null }

/** Search an episode on the server, page after page, until its end or until there are 2,000 hits. */
export function useHits(episodeId: string, text: string): Hits {
  const [hits, setHits] = useState<Hits>(NOTHING)
  useEffect(() => {
    if (!text) {
      setHits(NOTHING)
      return
    }
    const work = new AbortController()
    setHits({ ...NOTHING, done: false })
    void search(episodeId, text, work.signal, setHits)
    return () => work.abort()
  }, [episodeId, text])
  return text ? hits : NOTHING
}

async function search(id: string, text: string, signal: AbortSignal, tell: (hits: Hits) => void): Promise<void> {
  const items: Hit[] = []
  let from = 0
  try {
    for (;;) {
      const query = { from, limit: 200, q: text }
      const page = await get('/api/episodes/{episode_id}/events', { params: { episode_id: id }, query, signal })
      if (signal.aborted) return
      items.push(...page.items.map((event) => hitOf(event, text)))
      const many = items.length >= MOST
      const done = page.next === null || many
      from = page.next ?? page.total
      tell({ items: [...items], searched: from, total: page.total, done, many, error: null })
      if (done) return
    }
  } catch (error) {
    if (signal.aborted) return
    const message = error instanceof Error ? error.message : String(error)
    tell({ items: [...items], searched: from, total: from, done: true, many: false, error: message })
  }
}

/** Return a hit with the words around what was found. */
export function hitOf(event: EventDocument, text: string): Hit {
  const place = { seq: event.seq, step: event.step, kind: event.kind }
  for (const value of stringsIn(event.payload)) {
    const at = value.toLowerCase().indexOf(text.toLowerCase())
    if (at < 0) continue
    return {
      ...place,
      before: (at > 24 ? '…' : '') + plain(value.slice(Math.max(at - 24, 0), at)).replace(/\s+/g, ' '),
      found: plain(value.slice(at, at + text.length)),
      after: plain(value.slice(at + text.length, at + text.length + 80)).replace(/\s+/g, ' '),
    }
  }
  return { ...place, before: '', found: '', after: brief(JSON.stringify(event.payload) ?? '', 80) }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'number' || typeof value === 'boolean') yield String(value)
  else if (Array.isArray(value)) for (const inner of value) yield* stringsIn(inner)
  else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      yield key
      yield* stringsIn(inner)
    }
  }
}
