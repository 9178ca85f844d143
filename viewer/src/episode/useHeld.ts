/** Keeping what the reader looks at where it is, while heights around it become known. */
import { type RefObject, useCallback, useRef, useState } from 'react'
import { CHUNK, type Heights } from './chunks'

interface Anchor {
  row: number
  /** Distance of its upper edge from the upper edge of the window, in pixels. */
  top: number
  pinned: boolean
}

const ROW = 'data-row'
/** Time after the last change of a height in which scrolling without input is the browser's, in milliseconds. */
const SETTLING = 2000

/** What is held on to. */
export type Held = ReturnType<typeof useHeld>

/** The row that stays where it is, how to bring it back there, and the row at the top of what is seen. */
export function useHeld(list: RefObject<HTMLOListElement | null>, heights: RefObject<Heights>, top: number) {
  const anchor = useRef<Anchor | null>(null)
  const expected = useRef(-1)
  const input = useRef(false)
  const changed = useRef(0)
  const [current, setCurrent] = useState(0)

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
  }, [list, heights])

  const hold = useCallback(() => {
    const row = rowAt(list.current, top)
    if (!row) return
    // Who still looks at what is above the list keeps that in place, not the list.
    const above = (list.current?.getBoundingClientRect().top ?? 0) > top
    anchor.current = above ? null : { row: row.row, top: row.top, pinned: false }
    setCurrent(row.row)
  }, [list, top])

  const pin = useCallback(
    (row: number) => {
      anchor.current = { row, top, pinned: true }
      input.current = false
      changed.current = performance.now()
      settle()
      setCurrent(row)
    },
    [top, settle],
  )

  // A page that becomes shorter is moved to its end by the browser, and it may be longer again before the event comes.
  const scrolled = useCallback(() => {
    const end = document.documentElement.scrollHeight - window.innerHeight
    if (Math.abs(window.scrollY - Math.min(expected.current, end)) < 2) return
    const settling = !input.current && performance.now() - changed.current < SETTLING
    if (anchor.current?.pinned && settling) settle()
    else anchor.current = null
  }, [settle])

  return { anchor, input, changed, settle, hold, pin, scrolled, current, setCurrent }
}

/** Return the element of a row that is drawn. */
export function rowElement(list: HTMLElement, row: number): Element | null {
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
