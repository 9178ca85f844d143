import { type ReactNode, useRef } from 'react'
import { useSize } from '../parts/useSize'
import { DataTable, type DataTableProps } from './DataTable'
import styles from './Frame.module.css'

/** What is around the drawing of every chart. */
interface FrameProps {
  title: string
  /** What the chart shows, in a sentence, for those who cannot see it. */
  summary: string
  /** Pixels. */
  height: number
  /** What is under the pointer or the focus; empty shows the hint. */
  readout?: ReactNode
  /** The numbers behind the drawing. */
  table: DataTableProps
  /** Keys while the chart has the focus: -1 and 1 for the arrows, and the ends. */
  onStep?: (step: -1 | 1 | 'first' | 'last' | 'none') => void
  onLeave?: () => void
  /** Enter: choose what the focus reached. */
  onEnter?: () => void
  legend?: ReactNode
  /** Draws into a box of this width. */
  children: (width: number) => ReactNode
}

const STEPS = {
  ArrowLeft: -1,
  ArrowUp: -1,
  ArrowRight: 1,
  ArrowDown: 1,
  Home: 'first',
  End: 'last',
  Escape: 'none',
} as const

/** A chart: heading with read-out, drawing as wide as its place, the numbers as a table on demand. */
export function Frame(props: FrameProps) {
  const { title, summary, height, readout, table, onStep, onLeave, onEnter, legend, children } = props
  const box = useRef<HTMLDivElement>(null)
  const { width } = useSize(box)
  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>
        <span className={styles.title}>{title}</span>
        <output className={styles.readout}>{readout}</output>
      </figcaption>
      {legend}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields of a form */}
      <div
        ref={box}
        role="group"
        aria-label={`${title}. ${onStep ? 'Arrow keys read the values.' : ''}`}
        tabIndex={onStep ? 0 : undefined}
        className={styles.box}
        style={{ height }}
        onPointerLeave={onLeave}
        onBlur={onLeave}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onEnter?.()
          const step = STEPS[event.key as keyof typeof STEPS]
          if (step === undefined || !onStep) return
          event.preventDefault()
          onStep(step)
        }}
      >
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={summary} className={styles.svg}>
            {children(width)}
          </svg>
        )}
      </div>
      <details className={styles.data}>
        <summary>Numbers</summary>
        <DataTable {...table} />
      </details>
    </figure>
  )
}
