/** One of a few choices, all in sight, each with how many there are. */

import { count as counted } from '../format'
import { Icon, type IconName } from './Icon'
import styles from './Segments.module.css'

export interface Segment<Value extends string> {
  value: Value
  label: string
  icon?: IconName
  tone?: string
  count?: number | null
}

interface SegmentsProps<Value extends string> {
  label: string
  segments: readonly Segment<Value>[]
  value: Value | null
  onChange: (value: Value) => void
}

export function Segments<Value extends string>({ label, segments, value, onChange }: SegmentsProps<Value>) {
  return (
    <fieldset className={styles.segments}>
      <legend className="hidden-text">{label}</legend>
      {segments.map((segment) => (
        <button
          key={segment.value}
          type="button"
          data-tone={segment.tone}
          aria-pressed={segment.value === value}
          onClick={() => onChange(segment.value)}
        >
          {segment.icon && <Icon name={segment.icon} size={13} />} {segment.label}{' '}
          {segment.count != null && <span className={styles.count}>{counted(segment.count)}</span>}
        </button>
      ))}
    </fieldset>
  )
}
