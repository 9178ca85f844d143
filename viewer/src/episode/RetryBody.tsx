import { causeWords } from '../cause'
import { duration } from '../format'
import { Marked } from '../renderers/Marked'
import { type EventDocument, numberIn, payloadOf, textIn } from './events'
import styles from './timeline.module.css'

/** A call that had to be repeated: why, and after which wait. */
export function RetryBody({ event, highlight }: { event: EventDocument; highlight: string }) {
  const payload = payloadOf(event)
  const wait = numberIn(payload, 'wait_s')
  return (
    <>
      <p className={styles.line}>
        <strong>{causeWords(textIn(payload, 'cause') || 'retry').title}</strong>
        {wait !== null && <span className={styles.since}> retried after {duration(wait)}</span>}
      </p>
      <p className={styles.line}>
        <Marked text={textIn(payload, 'message')} highlight={highlight} />
      </p>
    </>
  )
}
