/** What a reader must know before trusting the numbers: the error that ended a run, and warnings. */

import { useState } from 'react'
import type { Schema } from '../api/types'
import { capitalized, plural } from '../format'
import { Button } from '../parts/Button'
import { Command } from '../parts/Command'
import { Icon } from '../parts/Icon'
import styles from './Notices.module.css'
import { unitOf } from './results/rollout'

export function Notices({ run }: { run: Schema<'RunDetail'> }) {
  const { state, error, warnings, rescored, counts, commands } = run
  const again = mended(run)
  const broken = state === 'interrupted' || state === 'stopped' || state === 'partial' || state === 'failed'
  return (
    <>
      {broken && (
        <div className={styles.notice} data-tone={state === 'failed' ? 'bad' : 'warn'}>
          <Icon name={state === 'failed' ? 'error' : 'warning'} />
          <div className={styles.words}>
            <p>{ending(run)}</p>
            {error !== '' && !isReason(run) && <LongText text={error} />}
            {commands.resume !== null && (counts.owed > 0 || state === 'partial') && (
              <Command>{commands.resume}</Command>
            )}
            {again !== null && (
              <>
                <p>The same code fails again. Mend it, push it, and submit it again:</p>
                <Command>{again}</Command>
              </>
            )}
          </div>
        </div>
      )}
      {rescored !== '' && (
        <div className={styles.notice} data-tone="warn">
          <Icon name="warning" />
          <div className={styles.words}>
            <p>{capitalized(rescored)}.</p>
          </div>
        </div>
      )}
      {warnings.length > 0 && (
        <details className={styles.notice} data-tone="warn">
          <summary>
            <Icon name="warning" /> {warnings.length === 1 ? warnings[0] : plural(warnings.length, 'warning')}
          </summary>
          {warnings.length > 1 && (
            <ul>
              {warnings.map((warning) => (
                <li key={warning}>{warning}</li>
              ))}
            </ul>
          )}
        </details>
      )}
    </>
  )
}

type Ended = Pick<Schema<'RunDetail'>, 'state' | 'error' | 'counts' | 'kind'>

function ending(run: Ended): string {
  const { state, error, counts } = run
  const { owed } = counts
  const rest = owed > 0 ? ` ${plural(owed, unitOf(run))} ${owed === 1 ? 'is' : 'are'} pending.` : ''
  if (state === 'interrupted') return `The process of this run exited unexpectedly.${rest}`
  if (state === 'stopped') {
    const why = isReason(run) ? `: ${error.trim().replace(/\.$/, '')}` : ''
    return `This run was stopped before the end${why}.${rest}`
  }
  if (state === 'partial') return `Too many ${unitOf(run)}s of this run have no value, so it is not ranked.${rest}`
  return `This run failed.${rest}`
}

/** Whether what ended the run is a reason in a few words, so that it can stand in a sentence. */
function isReason({ state, error }: Ended): boolean {
  return state === 'stopped' && error.trim() !== '' && error.length <= 200 && !error.includes('\n')
}

/** How to submit an evaluation again that failed because of its code, so that resuming it would be in vain; or null. */
export function mended({ state, counts, commands, request }: Schema<'RunDetail'>): string | null {
  const futile = state === 'failed' && counts.owed > 0 && request?.kind === 'rollout' && commands.resume === null
  return futile ? commands.repeat : null
}

/** Two lines of a text, all of it on request. */
function LongText({ text }: { text: string }) {
  const [all, setAll] = useState(false)
  const long = text.length > 200 || text.includes('\n')
  return (
    <>
      <p className={styles.error} data-short={(long && !all) || undefined}>
        {text}
      </p>
      {long && (
        <Button look="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? 'Less' : 'More'}
        </Button>
      )}
    </>
  )
}
