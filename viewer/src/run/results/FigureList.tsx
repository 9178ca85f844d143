/** Named numbers, one a line. */

import { exact } from '../../format'
import styles from './results.module.css'

/** One of them; the exact value is shown on hover. */
interface Figure {
  label: string
  value: number | null | undefined
  form: (value: number | null | undefined) => string
  unit?: string
  /** What else a person hovering over it would like to know. */
  hint?: string
}

export function FigureList({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className={styles.figures}>
      {figures.map(({ label, value, form, unit, hint }) => (
        <div key={label} data-tip={[exact(value, unit), hint].filter(Boolean).join('; ')}>
          <dt>{label}</dt>
          <dd>{form(value)}</dd>
        </div>
      ))}
    </dl>
  )
}
