import { useState } from 'react'
import { bytes } from '../format'
import { TextButton } from '../parts/TextButton'
import styles from './json.module.css'
import { Marked } from './Marked'
import { cut } from './marks'
import { PictureView } from './PictureView'
import { isInlineImage } from './picture'

const SHORT = 200
const MOST = 5_000

/** A single JSON value: a number, a truth value, null or text. */
export function JsonValue({ value, highlight }: { value: unknown; highlight: string }) {
  const [open, setOpen] = useState(false)
  if (value === null || value === undefined) return <span className={styles.nothing}>null</span>
  if (typeof value === 'number') return <span className={styles.number}>{String(value)}</span>
  if (typeof value === 'boolean') return <span className={styles.truth}>{String(value)}</span>
  if (typeof value !== 'string') return <span className={styles.nothing}>{typeof value}</span>
  if (isInlineImage(value)) return <PictureView data={value} type="" small />
  if (value.length <= SHORT && !value.includes('\n')) {
    return (
      <span className={styles.string}>
        "<Marked text={value} highlight={highlight} />"
      </span>
    )
  }
  return (
    <span className={styles.string}>
      <span className={open ? styles.wrapped : styles.oneLine}>
        "<Marked text={open ? cut(value, MOST) : cut(value, SHORT).replaceAll('\n', '↵')} highlight={highlight} />
        {(open ? value.length > MOST : value.length > SHORT) ? '…' : '"'}
      </span>{' '}
      <TextButton
        size="xs"
        tabIndex={-1}
        onClick={(event) => {
          event.stopPropagation()
          setOpen(!open)
        }}
      >
        {open ? 'less' : `all ${bytes(value.length)}`}
      </TextButton>
    </span>
  )
}
