/** The rows of a table that are in view, and the one that keys stand at. */
import { startTransition, useCallback, useEffect, useRef, useState } from 'react'
import { useSize } from './useSize'
import { reveal, view } from './windowing'

interface RowsOptions {
  count: number
  /** Pixels, as the height of the head. */
  rowHeight: number
  headHeight: number
  onRange?: (first: number, last: number) => void
  onMore?: () => void
}

/** What is known of the rows. */
export type Rows = ReturnType<typeof useRows>

const NEAR_END = 30

/** Follow what a table shows while it is scrolled, tell which rows to have, and go to a row. */
export function useRows({ count, rowHeight, headHeight, onRange, onMore }: RowsOptions) {
  const scroller = useRef<HTMLDivElement>(null)
  const { width, height } = useSize(scroller)
  const [top, setTop] = useState(0)
  const [active, setActive] = useState(-1)
  const body = Math.max(0, height - headHeight)
  const { first, last, height: tall, offset } = view(count, rowHeight, top, body)

  // Telling may lag behind drawing: React takes a chain of urgent updates, as fast scrolling makes one, for an endless loop.
  useEffect(() => startTransition(() => onRange?.(first, last)), [onRange, first, last])
  useEffect(() => {
    if (count > 0 && last >= count - NEAR_END) onMore?.()
  }, [onMore, last, count])
  useEffect(() => setActive((at) => Math.min(at, count - 1)), [count])

  const go = useCallback(
    (index: number) => {
      const target = scroller.current
      if (!target || count === 0) return
      const next = Math.max(0, Math.min(count - 1, index))
      setActive(next)
      target.scrollTop = reveal(next, count, rowHeight, target.scrollTop, target.clientHeight - headHeight)
      // The row is in the table's view now; a table that reaches out of the window must come into it as well.
      target.scrollIntoView?.({ block: 'nearest' })
    },
    [count, rowHeight, headHeight],
  )
  return { scroller, width, body, first, last, tall, offset, setTop, active, setActive, go }
}
