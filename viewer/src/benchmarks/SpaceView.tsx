/** One space of a binding vow: what an observation or an action looks like. */

import styles from './VowView.module.css'
import type { SpaceWords } from './vow'

const MOST_CHOICES = 24

export function SpaceView({ space }: { space: SpaceWords }) {
  const hidden = space.choices.length - MOST_CHOICES
  return (
    <div className={styles.space}>
      <p>
        {space.name !== '' && <code className={styles.name}>{space.name}</code>}
        <strong>{space.kind}</strong>
        {space.limits !== '' && <span className="muted"> · {space.limits}</span>}
      </p>
      {space.choices.length > 0 && (
        <ul className={styles.choices} aria-label="choices">
          {space.choices.slice(0, MOST_CHOICES).map((choice) => (
            <li key={choice}>
              <code>{choice}</code>
            </li>
          ))}
          {hidden > 0 && <li className="muted">and {hidden.toLocaleString('en')} more</li>}
        </ul>
      )}
      {space.description !== '' && <p className={styles.said}>{space.description}</p>}
      {space.inside.length > 0 && (
        <div className={styles.inside}>
          {space.inside.map((part) => (
            <SpaceView key={part.name} space={part} />
          ))}
        </div>
      )}
      {space.schema !== null && (
        <details>
          <summary>JSON Schema</summary>
          <pre className={styles.schema}>{JSON.stringify(space.schema, null, 2)}</pre>
        </details>
      )}
    </div>
  )
}
