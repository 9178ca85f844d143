import { exact, interval, percent, pValue, signed } from '../format'
import styles from './configuration.module.css'

/** How a run did against an earlier one: the run minus the earlier one. */
export interface Compared {
  delta: number
  low: number | null
  high: number | null
  weak?: boolean
  level: number
  p_value: number
  paired: boolean
  verdict: 'better' | 'worse' | 'tie'
}

const MEANINGS = {
  better: 'Better, beyond chance.',
  worse: 'Worse, beyond chance.',
  tie: 'May be chance.',
}

/** A difference in one number; only one that is real has a colour. */
export function Difference({ compared }: { compared: Compared }) {
  return (
    <span className={styles.difference} data-verdict={compared.verdict} data-tip={inFull(compared)}>
      {signed(compared.delta)}
      <span className="hidden-text">{` ${MEANINGS[compared.verdict]}`}</span>
    </span>
  )
}

/** A difference in a sentence: by how much, how sure, and whether it is real. */
export function DifferenceText({ compared }: { compared: Compared }) {
  const { delta, low, high, weak, verdict, p_value: p, paired } = compared
  const basis = paired ? 'paired by task' : 'on different tasks'
  const shown = pValue(p)
  return (
    <span className={styles.verdict}>
      <strong className={styles.difference} data-verdict={verdict} data-tip={inFull(compared)}>
        {signed(delta)} {interval(low, high, weak)}
      </strong>
      <strong>{MEANINGS[verdict]}</strong>
      <span className="muted">
        {basis}, p {shown.startsWith('<') ? `< ${shown.slice(1)}` : `= ${shown}`}
      </span>
    </span>
  )
}

function inFull({ delta, low, high, level, verdict }: Compared): string {
  const range = low == null || high == null ? 'without an interval' : `${percent(level)} interval ${low} to ${high}`
  return `${exact(delta)}, ${range}\n${MEANINGS[verdict]}`
}
