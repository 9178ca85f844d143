import { ActionView } from './ActionView'
import { type EventAt, type EventDocument, lookBack, payloadOf, textIn } from './events'
import { Reasoning } from './Reasoning'
import styles from './timeline.module.css'

export interface ActionBodyProps {
  row: number
  event: EventDocument
  eventAt: EventAt
  highlight: string
}

/** What the agent did, and why, unless the model's reply just above says the same. */
export function ActionBody({ row, event, eventAt, highlight }: ActionBodyProps) {
  const payload = payloadOf(event)
  const reasoning = textIn(payload, 'reasoning')
  const call = lookBack(eventAt, row, (one) => one.kind === 'model_call' && one.step === event.step, 12)
  const told = call ? [textIn(payloadOf(call), 'reasoning'), textIn(payloadOf(call), 'text')] : []
  return (
    <>
      {reasoning && !told.includes(reasoning) && <Reasoning text={reasoning} highlight={highlight} />}
      <ActionView action={payload.action} highlight={highlight} />
      {payload.repaired === true && (
        <p className={styles.line}>The reply did not spell its action as asked; it was understood all the same.</p>
      )}
    </>
  )
}
