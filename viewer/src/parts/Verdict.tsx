/** How an episode came out, in one word with its glyph: never by colour alone. */

import { Icon, type IconName } from './Icon'
import styles from './Verdict.module.css'

export type VerdictName = 'passed' | 'not_passed' | 'error' | 'missing'

export const VERDICTS: Record<VerdictName, { words: string; icon: IconName }> = {
  passed: { words: 'Passed', icon: 'check' },
  not_passed: { words: 'Not passed', icon: 'close' },
  error: { words: 'Error', icon: 'warning' },
  missing: { words: 'Missing', icon: 'dash' },
}

export function Verdict({ name, title }: { name: VerdictName; title?: string }) {
  const { words, icon } = VERDICTS[name]
  return (
    <span className={styles.verdict} data-verdict={name} data-tip={title}>
      <Icon name={icon} size={13} /> {words}
    </span>
  )
}
