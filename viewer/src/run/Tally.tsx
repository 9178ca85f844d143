/** How many episodes passed and how many did not, as one bar with words. */

import { count } from '../format'
import { Icon } from '../parts/Icon'
import { VERDICTS, type VerdictName } from '../parts/Verdict'
import styles from './Tally.module.css'

export type Counts = Record<VerdictName, number>

const ORDER: readonly VerdictName[] = ['passed', 'not_passed', 'error', 'missing']

/** Of a run that goes on, what is missing is still to play. */
export function Tally({ counts, going = false }: { counts: Counts; going?: boolean }) {
  const total = ORDER.reduce((sum, name) => sum + counts[name], 0)
  if (total === 0) return null
  const some = ORDER.filter((name) => counts[name] > 0)
  return (
    <div className={styles.tally}>
      <span className={styles.bar} aria-hidden="true">
        {some.map((name) => (
          <span key={name} data-verdict={name} style={{ flexGrow: counts[name] }} />
        ))}
      </span>
      <ul className={styles.words}>
        {some.map((name) => (
          <li key={name} data-verdict={name}>
            <Icon name={VERDICTS[name].icon} size={13} /> {count(counts[name])}{' '}
            {going && name === 'missing' ? 'still to play' : VERDICTS[name].words.toLowerCase()}
          </li>
        ))}
      </ul>
    </div>
  )
}
