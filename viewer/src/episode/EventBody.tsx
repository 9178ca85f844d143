import type { ReactNode } from 'react'
import { ContentView } from '../renderers/ContentView'
import { FailureView } from '../renderers/FailureView'
import { Marked } from '../renderers/Marked'
import { ToolCallView } from '../renderers/ToolCallView'
import { ActionBody } from './ActionBody'
import type { EventRowProps } from './EventRow'
import { lookBack, observed, payloadOf, resultOf, textIn } from './events'
import { FieldList } from './FieldList'
import { LogBody } from './LogBody'
import { MessageBody } from './MessageBody'
import { ModelCallBody } from './ModelCallBody'
import { RetryBody } from './RetryBody'
import { StepResultBody } from './StepResultBody'
import styles from './timeline.module.css'

/** What an event says, by its kind. */
export function EventBody(props: EventRowProps): ReactNode {
  const { row, event, eventAt, highlight, episode, onCall } = props
  const payload = payloadOf(event)
  switch (event.kind) {
    case 'observation': {
      const { data, type, systemPrompt } = observed(event)
      const last = lookBack(eventAt, row, (one) => one.kind === 'observation')
      return (
        <>
          <ContentView
            data={data}
            type={type}
            before={last && observed(last).data}
            highlight={highlight}
            named={episode.view}
          />
          {systemPrompt && <ContentView data={systemPrompt} type="text/plain" highlight={highlight} />}
        </>
      )
    }
    case 'message':
      return <MessageBody row={row} event={event} eventAt={eventAt} highlight={highlight} />
    case 'model_call':
      return (
        <ModelCallBody
          row={row}
          event={event}
          eventAt={eventAt}
          highlight={highlight}
          onOpen={() => onCall(event.seq)}
        />
      )
    case 'action':
      return <ActionBody row={row} event={event} eventAt={eventAt} highlight={highlight} />
    case 'tool_call': {
      const call = { id: textIn(payload, 'id'), name: textIn(payload, 'name'), arguments: payload.arguments }
      return <ToolCallView call={{ ...call, result: resultOf(eventAt, row) }} highlight={highlight} />
    }
    case 'step_result':
      return <StepResultBody row={row} event={event} eventAt={eventAt} highlight={highlight} />
    case 'retry':
      return <RetryBody event={event} highlight={highlight} />
    case 'error':
      return <FailureView failure={failureIn(event, episode.failure?.valid)} highlight={highlight} />
    case 'log':
      if (typeof payload.message !== 'string') break
      return <LogBody row={row} event={event} eventAt={eventAt} highlight={highlight} />
    case 'warning':
      if (typeof payload.message !== 'string') break
      return (
        <p className={styles.line}>
          <Marked text={payload.message} highlight={highlight} />
        </p>
      )
    case 'episode_start':
    case 'episode_end':
      return <FieldList fields={payload} highlight={highlight} />
  }
  return <ContentView data={event.payload} type="" highlight={highlight} />
}

/** An error as it was recorded, as a failure to show. */
function failureIn(event: EventRowProps['event'], valid: boolean | undefined) {
  const payload = payloadOf(event)
  return {
    cause: textIn(payload, 'cause') || 'error',
    boundary: textIn(payload, 'boundary'),
    message: textIn(payload, 'message') || textIn(payload, 'error'),
    detail: textIn(payload, 'detail'),
    stderr: textIn(payload, 'stderr'),
    valid,
  }
}
