import type { Schema } from '../api/types'
import { Icon } from '../parts/Icon'
import { When } from '../parts/When'
import { Markdown } from '../renderers/Markdown'
import styles from './reviews.module.css'
import { labelWords, said } from './words'

type Verdict = Schema<'VerdictDocument'>

/** What people said of an episode, the oldest first; what does not hold any more is struck through. `inRound`: all are of the same round. */
export function History({ verdicts, inRound = false }: { verdicts: readonly Verdict[]; inRound?: boolean }) {
  if (verdicts.length === 0) return <p className="muted">Nobody has said anything yet.</p>
  return (
    <ol className={styles.history}>
      {verdicts.map((verdict) => (
        <li key={verdict.id}>
          <Glyph verdict={verdict} />
          <div className={styles.entry}>
            <span>
              <bdi>{verdict.author}</bdi>:{' '}
              {verdict.current || verdict.withdrawn ? said(verdict) : <s data-tip="Replaced later">{said(verdict)}</s>}
            </span>
            {labelWords(verdict.labels).length > 0 && (
              <span className="muted" dir="auto">
                {labelWords(verdict.labels).join(', ')}
              </span>
            )}
            {verdict.step !== '' && (
              <span className="muted" dir="auto">
                rests on: {verdict.step}
              </span>
            )}
            {verdict.note !== '' && (
              <div className={styles.note}>
                <Markdown text={verdict.note} links />
              </div>
            )}
            {!inRound && verdict.round_name !== '' && (
              <span className="muted">
                in <bdi>{verdict.round_name}</bdi>
              </span>
            )}
          </div>
          <span className={styles.when}>
            <When at={verdict.at} />
          </span>
        </li>
      ))}
    </ol>
  )
}

/** Right, wrong, or neither, of the answer; the words beside it say the same. */
function Glyph({ verdict }: { verdict: Verdict }) {
  const right = verdict.answer === 'right'
  const look = right ? styles.good : verdict.answer === 'wrong' ? styles.bad : 'muted'
  return (
    <span className={look}>
      <Icon name={right ? 'check' : verdict.answer === 'wrong' ? 'close' : 'info'} size={14} />
    </span>
  )
}
