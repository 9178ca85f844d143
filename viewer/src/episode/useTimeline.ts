import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { CHUNK, Heights } from './chunks'
import { type Held, rowElement, useHeld } from './useHeld'

/** What of a long list is drawn, and how to get to a row. */
interface TimelineWindow {
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

const AHEAD = 800
/** What a reader scrolls with. */
const INPUT = ['wheel', 'touchmove', 'pointerdown', 'keydown']

/**
 * Draw a list of `count` rows of unknown heights in the page's own scrolling. Rows carry `data-row`, chunks of a few rows
 * `data-chunk`. What the reader looks at stays where it is while heights around it become known.
 */
export function useTimeline(count: number, top: number): TimelineWindow {
  const list = useRef<HTMLOListElement>(null)
  const chunks = Math.ceil(count / CHUNK)
  const heights = useRef(new Heights(chunks))
  if (heights.current.count !== chunks) heights.current = heights.current.resized(chunks)
  const held = useHeld(list, heights, top)
  const { range, look } = useRange(list, heights, chunks)
  useFollowing(held, look)
  useMeasuring({ list, heights, range, chunks, held, look })
  useLayoutEffect(held.settle)

  const { pin, current } = held
  const goTo = useCallback(
    (row: number) => {
      pin(Math.max(0, Math.min(row, count - 1)))
      look(true)
    },
    [count, pin, look],
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

type List = RefObject<HTMLOListElement | null>

/** The chunks that are drawn, and looking again which those are. */
function useRange(list: List, heights: RefObject<Heights>, chunks: number) {
  const [range, setRange] = useState({ first: 0, end: Math.min(chunks, 6), version: 0 })
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
    [list, heights, chunks],
  )
  return { range, look }
}

/** Draw other chunks as the reader scrolls, and hold on to what is then looked at. */
function useFollowing({ anchor, input, settle, hold, scrolled }: Held, look: (changed: boolean) => void) {
  useEffect(() => {
    let frame = 0
    const onScroll = () => {
      scrolled()
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
    const onInput = () => {
      input.current = true
    }
    for (const kind of INPUT) window.addEventListener(kind, onInput, { passive: true, capture: true })
    return () => {
      cancelAnimationFrame(frame)
      window.removeEventListener('scroll', onScroll)
      window.removeEventListener('resize', onResize)
      for (const kind of INPUT) window.removeEventListener(kind, onInput, { capture: true })
    }
  }, [anchor, input, hold, look, settle, scrolled])
}

interface MeasuringOptions {
  list: List
  heights: RefObject<Heights>
  range: { first: number; end: number }
  chunks: number
  held: Held
  look: (changed: boolean) => void
}

/** Learn the heights of the chunks that are drawn. */
function useMeasuring({ list, heights, range, chunks, held, look }: MeasuringOptions) {
  const { anchor, changed, settle, hold } = held
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
      if (news) {
        changed.current = performance.now()
        look(true)
      }
      // After a jump to a place that was not drawn, this is the first time that there is something to hold on to.
      if (!anchor.current?.pinned && !rowElement(element, anchor.current?.row ?? -1)) hold()
    }
    const nodes = element.querySelectorAll('[data-chunk]')
    measure(nodes)
    const observer = new ResizeObserver((entries) => measure(entries.map((entry) => entry.target)))
    for (const node of nodes) observer.observe(node)
    return () => observer.disconnect()
  }, [range.first, range.end, chunks, changed, settle, look, hold])
}
