import { type ReactNode, type Ref, useEffect, useImperativeHandle, useLayoutEffect } from 'react'
import { CHUNK } from './chunks'
import styles from './timeline.module.css'
import { useTimeline } from './useTimeline'

export interface TimelineHandle {
  goTo: (row: number) => void
}

interface TimelineProps {
  ref?: Ref<TimelineHandle>
  count: number
  /** Height of what covers the top of the window, in pixels. */
  top: number
  label: string
  renderRow: (row: number) => ReactNode
  /** Told when other rows come near the window, and which one is at its top. */
  onRange: (first: number, end: number) => void
  onCurrent?: (row: number) => void
}

/** A list of any number of rows of any height, of which only those near the window are drawn. */
export function Timeline({ ref, count, top, label, renderRow, onRange, onCurrent }: TimelineProps) {
  const { list, firstChunk, endChunk, before, after, current, goTo } = useTimeline(count, top)
  const first = firstChunk * CHUNK
  const end = Math.min(endChunk * CHUNK, count)
  useImperativeHandle(ref, () => ({ goTo }), [goTo])
  useLayoutEffect(() => onRange(first, end), [first, end, onRange])
  useEffect(() => onCurrent?.(current), [current, onCurrent])

  const chunks: ReactNode[] = []
  for (let chunk = firstChunk; chunk < endChunk; chunk++) {
    const rows: ReactNode[] = []
    for (let row = chunk * CHUNK; row < Math.min((chunk + 1) * CHUNK, count); row++) rows.push(renderRow(row))
    chunks.push(
      <li key={chunk} data-chunk={chunk} className={styles.chunk}>
        {rows}
      </li>,
    )
  }
  return (
    <ol ref={list} className={styles.list} aria-label={label}>
      <li style={{ height: before }} aria-hidden="true" />
      {chunks}
      <li style={{ height: after }} aria-hidden="true" />
    </ol>
  )
}
