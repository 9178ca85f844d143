import { plural } from '../format'
import { answerOf } from '../renderers/turn'
import { ActionView } from './ActionView'
import { type EventAt, type EventDocument, lookBack, payloadOf, textIn } from './events'
import { Reasoning } from './Reasoning'
import styles from './timeline.module.css'

interface ActionBodyProps {
  row: number
  event: EventDocument
  eventAt: EventAt
  highlight: string
}

/** What the agent did, and why, unless the model's reply just above says the same. */
export function ActionBody(props: ActionBodyProps) {
  const { row, event, eventAt, highlight } = props
  const payload = payloadOf(event)
  const reasoning = textIn(payload, 'reasoning')
  const call = lookBack(eventAt, row, (one) => one.kind === 'model_call' && one.step === event.step, 12)
  const told = call ? [textIn(payloadOf(call), 'reasoning'), textIn(payloadOf(call), 'text')] : []
  return (
    <>
      {reasoning && !told.includes(reasoning) && <Reasoning text={reasoning} highlight={highlight} />}
      {answered(props) ? (
        <p className={styles.since}>reply with {plural(answered(props), 'tool call')}, shown above</p>
      ) : (
        <ActionView action={payload.action} highlight={highlight} />
      )}
      {payload.repaired === true && (
        <p className={styles.line}>The action did not have the exact format requested, but could be parsed.</p>
      )}
    </>
  )
}

/** The number of tool calls of an answer when the events just above tell all that it says; else 0. */
function answered({ row, event, eventAt }: ActionBodyProps): number {
  const answer = answerOf(payloadOf(event).action)
  if (answer === null || answer.calls.length === 0) return 0
  for (let index = 1; index <= answer.calls.length; index++) {
    const before = eventAt(row - index)
    if (before?.kind !== 'tool_call' || before.step !== event.step) return 0
  }
  const call = eventAt(row - answer.calls.length - 1)
  const told = call?.kind === 'model_call' ? textIn(payloadOf(call), 'text') : ''
  return answer.text === '' || answer.text === told ? answer.calls.length : 0
}
