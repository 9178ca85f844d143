/** Question, expected, given and verdict of an episode, in sight while one reads on. */

import { type ReactNode, type Ref, useState } from 'react'
import type { Schema } from '../../api/types'
import { measure } from '../../format'
import { TextButton } from '../../parts/TextButton'
import { Verdict } from '../../parts/Verdict'
import { Marked } from '../../renderers/Marked'
import { behaviourWords } from '../../run/wrong/words'
import styles from './answer.module.css'
import { answerText, questionText } from './texts'

const LONG = 420
const LINES = 7

interface StripProps {
  ref?: Ref<HTMLElement>
  episode: Schema<'EpisodeDetail'>
}

export function Strip({ ref, episode }: StripProps) {
  const question = questionText(episode.input) || episode.question
  const expected = answerText(episode.target) || episode.expected
  const given = answerText(episode.answer) || episode.given
  const judged = episode.verdict !== null || episode.why !== ''
  if (question === '' && expected === '' && given === '' && !judged) return null
  return (
    <section ref={ref} className={styles.strip} aria-label="Question and answer">
      {question !== '' && (
        <Cell name="question" label="Question">
          <Long text={question} />
        </Cell>
      )}
      {expected !== '' && (
        <Cell name="expected" label="Expected" note="not sent">
          <Answer text={expected} />
        </Cell>
      )}
      {given !== '' && (
        <Cell name="given" label="Given">
          <Answer text={given} verdict={episode.verdict} />
        </Cell>
      )}
      <Cell name="verdict" label="Verdict">
        <p className={styles.verdict}>
          {episode.verdict === null ? <Score episode={episode} /> : <Verdict name={episode.verdict} />}
        </p>
        {episode.why !== '' && (
          <p className={styles.why}>
            <Marked text={episode.why} />
          </p>
        )}
        {episode.behaviour !== '' && <p className="muted">{behaviourWords(episode.behaviour)}</p>}
      </Cell>
    </section>
  )
}

interface CellProps {
  name: string
  label: ReactNode
  note?: string
  children: ReactNode
}

/** A field of the strip. */
export function Cell({ name, label, note, children }: CellProps) {
  return (
    <div className={styles.cell} data-cell={name}>
      <h2>
        {label} {note !== undefined && <span className={styles.chip}>{note}</span>}
      </h2>
      {children}
    </div>
  )
}

function Score({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  if (episode.score === null) return <span className="muted">{episode.state}</span>
  return (
    <>
      {measure(episode.score)} <span className="muted">{episode.run.primary?.name}</span>
    </>
  )
}

/** Text that is folded when it is long. */
export function Long({ text: given }: { text: string }) {
  const [all, setAll] = useState(false)
  const text = given.replace(/^\s*\n/, '').trimEnd()
  const folded = text.split('\n').slice(0, LINES).join('\n').slice(0, LONG)
  const long = folded.length < text.length
  return (
    <div className={styles.text} data-code={/^\s*(def|class|import|from|return) |[{};]$/m.test(text) || undefined}>
      <p>
        <Marked text={long && !all ? `${folded.trimEnd()}…` : text} />
      </p>
      {long && <TextButton onClick={() => setAll(!all)}>{all ? 'Fold' : 'Show all'}</TextButton>}
    </div>
  )
}

/** A short answer large, a long one as text. */
export function Answer({ text, verdict }: { text: string; verdict?: string | null }) {
  if (text.length > 40 || text.includes('\n')) return <Long text={text} />
  return (
    <p className={styles.short} data-verdict={verdict ?? undefined}>
      <Marked text={text} />
    </p>
  )
}
