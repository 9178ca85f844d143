import { useMemo } from 'react'
import { count } from '../format'
import { lineAt, lineIndex } from './lines'
import { Marked } from './Marked'
import { ScrollBox } from './ScrollBox'
import styles from './text.module.css'
import { useWindow } from './useWindow'

const LINE_HEIGHT = 18

/** Text of any length in a box of its own; only the lines in sight are laid out. */
export function LongText({ text, highlight = '' }: { text: string; highlight?: string }) {
  const index = useMemo(() => lineIndex(text), [text])
  const total = index.numbers.length
  const { box, first, end, before, after } = useWindow<HTMLDivElement>(total, LINE_HEIGHT)
  const lines = []
  for (let line = first; line < end; line++) {
    lines.push(
      <div key={line} className={styles.line}>
        <span className={styles.lineNumber}>{index.numbers[line] || ''}</span>
        <span className={styles.lineText}>
          <Marked text={lineAt(text, index, line)} highlight={highlight} />
        </span>
      </div>,
    )
  }
  return (
    <ScrollBox ref={box} className={styles.long} label={`Text of ${count(total)} lines`}>
      <div style={{ height: before }} />
      {lines}
      <div style={{ height: after }} />
      {index.more && <p className={styles.empty}>Only the first {count(total)} lines are shown.</p>}
    </ScrollBox>
  )
}
