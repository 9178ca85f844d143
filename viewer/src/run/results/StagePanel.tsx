/** Failures by the stage in which they happened and their cause; each leads to its samples. */

import { causeWords } from '../../cause'
import { capitalized, count } from '../../format'
import { Icon } from '../../parts/Icon'
import { Panel } from '../../parts/Panel'
import { compact } from '../search'
import type { ResultsProps } from './ResultsView'
import styles from './results.module.css'
import { filterOfCause } from './rollout'
import type { Results } from './types'
import { byStage } from './words'

export function StagePanel({ run, results, search, onSearch }: ResultsProps & { results: Results }) {
  const { counts } = results
  const failures = byStage(results.failures)
  const total = failures.reduce((sum, { count: some }) => sum + some, 0)
  const most = Math.max(...failures.map(({ count: some }) => some), 1)
  const show = (cause: string) =>
    onSearch(compact({ tab: 'samples', ...filterOfCause(run, cause), slice: search.slice, slices: search.slices }))
  return (
    <Panel title="Failures by stage" note={total > 0 ? `${count(total)} of ${count(counts.done)} samples` : undefined}>
      {failures.length === 0 && (
        <p className={counts.done > 0 ? styles.fine : 'muted'}>
          {counts.done > 0 && <Icon name="check" />} {counts.done > 0 ? 'No failures.' : 'No samples yet.'}
        </p>
      )}
      <ul className={styles.stages}>
        {failures.map(({ stage, cause, count: some, valid }, index) => (
          <li key={`${stage} ${cause}`}>
            <button
              type="button"
              className={styles.stage}
              onClick={() => show(cause)}
              data-tip={`${causeWords(cause).title}; ${valid ? 'counts as worst' : 'excluded'}. Show these samples.`}
            >
              <span className={styles.stageName}>
                {failures[index - 1]?.stage === stage ? (
                  <span className="hidden-text">{capitalized(stage)}</span>
                ) : (
                  capitalized(stage)
                )}
              </span>{' '}
              <span className={styles.causeName}>{causeWords(cause).name}</span>
              <span className={styles.track} aria-hidden="true">
                <span data-valid={valid} style={{ width: `${(100 * some) / most}%` }} />
              </span>
              <span className={styles.amount}>{count(some)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
