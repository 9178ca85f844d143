import { causeWords } from '../cause'
import { Num } from '../parts/Num'
import { Marked } from '../renderers/Marked'
import type { GivenScore } from './scores'
import styles from './scores.module.css'

/** Scores with their explanations; a missing one says why. An explanation that scores share is told once. */
export function ScoreList({ scores, highlight }: { scores: readonly GivenScore[]; highlight: string }) {
  return (
    <dl className={styles.scores}>
      {scores.map(({ name, value, missing, explanation }, index) => (
        <div key={name}>
          <dt>
            <Marked text={name} highlight={highlight} />
          </dt>
          <dd>
            {value === null ? <Missing cause={missing} /> : <Num value={value} />}
            {explanation !== '' && explanation !== scores[index - 1]?.explanation && (
              <p className={styles.words}>
                <Marked text={explanation} highlight={highlight} />
              </p>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Missing({ cause }: { cause: string }) {
  const { name, title } = causeWords(cause || 'value_missing')
  return (
    <span className="muted" data-tip={title}>
      {name}
    </span>
  )
}
