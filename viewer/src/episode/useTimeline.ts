import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { CHUNK, Heights } from './chunks'

/** What of a long list is drawn, and how to get to a row. */
export interface TimelineWindow {
  list: RefObject<HTMLOListElement | null>
  firstChunk: number
  /** The chunk after the last one that is drawn. */
  endChunk: number
  before: number
  after: number
  /** Row at the top of what is seen. */
  current: number
  /** Bring a row to the top and keep it there until the reader scrolls, whatever is still being loaded around it. */
  goTo: (row: number) => void
}

interface Anchor {
  row: number
  /** Distance of its upper edge from the upper edge of the window, in pixels. */
  top: number
  pinned: boolean
}

const AHEAD = 800
const ROW = 'data-row'

/**
 * Draw a list of `count` rows of unknown heights in the page's own scrolling. Rows carry `data-row`, chunks of a few rows
 * `data-chunk`. What the reader looks at stays where it is while heights around it become known.
 */
export function useTimeline(count: number, top: number): TimelineWindow {
  const list = useRef<HTMLOListElement>(null)
  const anchor = useRef<Anchor | null>(null)
  const expected = useRef(-1)
  const chunks = Math.ceil(count / CHUNK)
  const heights = useRef(new Heights(chunks))
  if (heights.current.count !== chunks) heights.current = heights.current.resized(chunks)
  const [range, setRange] = useState({ first: 0, end: Math.min(chunks, 6), version: 0 })
  const [current, setCurrent] = useState(0)

  const look = useCallback(
    (changed: boolean) => {
      const element = list.current
      if (!element || !chunks) return
      const from = -element.getBoundingClientRect().top
      const first = heights.current.at(Math.max(from - AHEAD, 0))
      const end = Math.min(heights.current.at(Math.max(from + window.innerHeight + AHEAD, 0)) + 1, chunks)
      setRange((now) =>
        now.first === first && now.end === end && !changed
          ? now
          : { first, end, version: changed ? now.version + 1 : now.version },
      )
    },
    [chunks],
  )

  const settle = useCallback(() => {
    const element = list.current
    const wanted = anchor.current
    if (!element || !wanted) return
    const row = rowElement(element, wanted.row)
    if (row) {
      const away = row.getBoundingClientRect().top - wanted.top
      if (Math.abs(away) > 0.5) window.scrollBy({ top: away, behavior: 'instant' })
    } else if (wanted.pinned) {
      const start = heights.current.start(Math.floor(wanted.row / CHUNK))
      const place = element.getBoundingClientRect().top + window.scrollY + start - wanted.top
      window.scrollTo({ top: place, behavior: 'instant' })
    }
    expected.current = window.scrollY
  }, [])

  const hold = useCallback(() => {
    const row = rowAt(list.current, top)
    if (!row) return
    // Who still looks at what is above the list keeps that in place, not the list.
    const above = (list.current?.getBoundingClientRect().top ?? 0) > top
    anchor.current = above ? null : { row: row.row, top: row.top, pinned: false }
    setCurrent(row.row)
  }, [top])

  useEffect(() => {
    let frame = 0
    const onScroll = () => {
      const own = Math.abs(window.scrollY - expected.current) < 2
      if (!own) anchor.current = null
      frame ||= requestAnimationFrame(() => {
        frame = 0
        if (!anchor.current) hold()
        look(false)
      })
    }
    const onResize = () => {
      settle()
      look(false)
    }
    look(false)
    window.addEventListener('scroll', onScroll, { passive: true })
    window.addEventListener('resize', onResize)
    return () => {
      cancelAnimationFrame(frame)
      window.removeEventListener('scroll', onScroll)
      window.removeEventListener('resize', onResize)
    }
  }, [hold, look, settle])

  // Chunks are measured whenever their content changes: text unfolds, images arrive, windows are loaded.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawn chunks are others when the range is
  useLayoutEffect(() => {
    const element = list.current
    if (!element) return
    const measure = (nodes: Iterable<Element>) => {
      let news = false
      for (const node of nodes) {
        const height = node.getBoundingClientRect().height
        if (height > 0) news = heights.current.set(Number(node.getAttribute('data-chunk')), height) || news
      }
      settle()
      if (news) look(true)
      // After a jump to a place that was not drawn, this is the first time that there is something to hold on to.
      if (!anchor.current?.pinned && !rowElement(element, anchor.current?.row ?? -1)) hold()
    }
    const nodes = element.querySelectorAll('[data-chunk]')
    measure(nodes)
    const observer = new ResizeObserver((entries) => measure(entries.map((entry) => entry.target)))
    for (const node of nodes) observer.observe(node)
    return () => observer.disconnect()
  }, [range.first, range.end, chunks, settle, look, hold])

  useLayoutEffect(settle)

  const goTo = useCallback(
    (row: number) => {
      anchor.current = { row: Math.max(0, Math.min(row, count - 1)), top, pinned: true }
      settle()
      look(true)
      setCurrent(anchor.current.row)
    },
    [count, top, settle, look],
  )

  const first = Math.min(range.first, chunks)
  const end = Math.min(range.end, chunks)
  return {
    list,
    firstChunk: first,
    endChunk: end,
    before: heights.current.start(first),
    after: heights.current.start(chunks) - heights.current.start(end),
    current: Math.min(current, Math.max(count - 1, 0)),
    goTo,
  }
}

function rowElement(list: HTMLElement, row: number): Element | null {
  return list.querySelector(`[${ROW}="${row}"]`)
}

/** Return the first row whose lower edge is below the line `top`. */
function rowAt(list: HTMLElement | null, top: number): { row: number; top: number } | null {
  for (const element of list?.querySelectorAll(`[${ROW}]`) ?? []) {
    const box = element.getBoundingClientRect()
    if (box.bottom > top + 1) return { row: Number(element.getAttribute(ROW)), top: box.top }
  }
  return null
}
