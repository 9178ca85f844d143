import { memo } from 'react'
import type { Schema } from '../api/types'
import { count, exact, signed } from '../format'
import { Icon } from '../parts/Icon'
import { Marked } from '../renderers/Marked'
import styles from './side.module.css'

interface OutlineItemProps {
  step: number
  summary: Schema<'StepSummary'> | undefined
  /** Pixels from the top of the list. */
  top: number
  current: boolean
  /** Whether Tab reaches it. */
  stop: boolean
  onStep: (step: number) => void
}

/** A step in the outline. */
export const OutlineItem = memo(function OutlineItem(props: OutlineItemProps) {
  const { step, summary, top, current, stop, onStep } = props
  const reward = summary?.reward
  return (
    <button
      type="button"
      className={styles.item}
      style={{ top }}
      tabIndex={stop ? 0 : -1}
      data-step={step}
      aria-current={current ? 'step' : undefined}
      onClick={() => onStep(step)}
    >
      <span className={styles.number}>{count(step)}</span>
      <span className={styles.words}>
        {summary ? <Marked text={summary.action || (step === 0 ? 'start' : '–')} /> : ''}
      </span>
      {summary && summary.errors > 0 && (
        <span className={styles.mark} data-bad>
          <Icon name="error" size={13} label="error" />
        </span>
      )}
      {summary && summary.warnings + summary.retries > 0 && (
        <span className={styles.mark} data-tip={problems(summary)}>
          <Icon name="warning" size={13} label={problems(summary)} />
        </span>
      )}
      {reward != null && reward !== 0 && (
        <span className={styles.reward} data-sign={Math.sign(reward)} data-tip={`reward ${exact(reward)}`}>
          {signed(reward)}
        </span>
      )}
    </button>
  )
})

function problems({ warnings, retries }: Schema<'StepSummary'>): string {
  const parts = [
    warnings ? `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}` : '',
    retries ? `${retries} ${retries === 1 ? 'retry' : 'retries'}` : '',
  ]
  return parts.filter(Boolean).join(', ')
}
