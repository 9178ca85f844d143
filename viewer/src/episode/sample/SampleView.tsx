/** What came of a sample: verdict, time, conversation; the timeline below has everything in its order. */

import type { Schema } from '../../api/types'
import { duration } from '../../format'
import { Panel } from '../../parts/Panel'
import { FailureView } from '../../renderers/FailureView'
import { JsonTree } from '../../renderers/JsonTree'
import { goesOn } from '../goesOn'
import { Conversation } from './Conversation'
import { sampleFacts } from './facts'
import styles from './sample.module.css'
import { TimingBar } from './TimingBar'
import { Verdict } from './Verdict'

export function SampleView({ episode, highlight }: { episode: Schema<'EpisodeDetail'>; highlight: string }) {
  const facts = sampleFacts(episode)
  const { timing, blocked, graderFailure, partial, extra } = facts
  return (
    <div className={styles.sample}>
      {graderFailure !== null && <FailureView failure={{ ...graderFailure, valid: false }} highlight={highlight} />}
      {blocked !== null && (
        <p className={styles.blocked} role="note">
          This workflow blocked the event loop for {duration(blocked.seconds)}
          {blocked.where !== '' && (
            <>
              {' '}
              at <code>{blocked.where}</code>
            </>
          )}
          . Other samples were not affected, but it could not be cancelled meanwhile; use <code>await</code>, or{' '}
          <code>asyncio.to_thread</code>.
        </p>
      )}
      <div className={styles.columns}>
        <Panel title="Conversation" note={partial === null ? undefined : 'until the workflow failed'}>
          <Conversation episode={episode} partial={partial} highlight={highlight} />
        </Panel>
        <aside className={styles.side} aria-label="Verdict">
          <Verdict episode={episode} facts={facts} />
          {timing !== null && !goesOn(episode) && (
            <Panel title="Time">
              <TimingBar timing={timing} />
            </Panel>
          )}
          {extra !== null && (
            <Panel title="Extra data">
              <JsonTree value={extra} label="Extra data of the sample" />
            </Panel>
          )}
        </aside>
      </div>
    </div>
  )
}
