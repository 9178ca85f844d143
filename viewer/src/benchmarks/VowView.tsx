/** A binding vow as people read it. */

import { SpaceView } from './SpaceView'
import styles from './VowView.module.css'
import type { VowWords } from './vow'

export function VowView({ vow }: { vow: VowWords }) {
  return (
    <dl className={styles.vow}>
      {vow.prompt !== '' && (
        <>
          <dt>Instructions</dt>
          <dd className={styles.prompt}>{vow.prompt}</dd>
        </>
      )}
      {vow.observation !== null && (
        <>
          <dt>Observation</dt>
          <dd>
            <SpaceView space={vow.observation} />
          </dd>
        </>
      )}
      {vow.action !== null && (
        <>
          <dt>Action</dt>
          <dd>
            <SpaceView space={vow.action} />
          </dd>
        </>
      )}
      {vow.reward !== null && (
        <>
          <dt>Reward</dt>
          <dd>
            <strong>{vow.reward.kind}</strong>
            {vow.reward.range !== '' && <span className="muted"> · {vow.reward.range}</span>}
            {vow.reward.description !== '' && <p className={styles.said}>{vow.reward.description}</p>}
          </dd>
        </>
      )}
      <dt>Episode</dt>
      <dd>
        <ul className={styles.facts}>
          {vow.episode.map((fact) => (
            <li key={fact}>{fact}</li>
          ))}
        </ul>
      </dd>
      {vow.techniques.length > 0 && (
        <>
          <dt>Techniques</dt>
          <dd>
            <Techniques techniques={vow.techniques} />
          </dd>
        </>
      )}
    </dl>
  )
}

function Techniques({ techniques }: Pick<VowWords, 'techniques'>) {
  return (
    <>
      {techniques.map(({ name, required, options }) => (
        <details key={name} className={styles.technique}>
          <summary>
            <code>{name}</code> <span className="muted">{required ? 'required' : 'optional'}</span>
          </summary>
          <pre className={styles.schema}>{JSON.stringify(options, null, 2)}</pre>
        </details>
      ))}
    </>
  )
}
