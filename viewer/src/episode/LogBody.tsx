import { Marked } from '../renderers/Marked'
import { TextView } from '../renderers/TextView'
import { type EventAt, type EventDocument, payloadOf, textIn } from './events'
import { linesFrom, streamOf } from './log'
import styles from './timeline.module.css'

interface LogBodyProps {
  row: number
  event: EventDocument
  eventAt: EventAt
  highlight: string
}

/** Lines that a program printed, folded when there are many; or a note. */
export function LogBody({ row, event, eventAt, highlight }: LogBodyProps) {
  if (streamOf(event) === '') {
    return (
      <p className={styles.line}>
        <Marked text={textIn(payloadOf(event), 'message')} highlight={highlight} />
      </p>
    )
  }
  const text = linesFrom(row, event, eventAt).join('\n')
  const found = highlight !== '' && text.toLowerCase().includes(highlight.toLowerCase())
  return <TextView key={found ? 'found' : 'folded'} text={text} mono highlight={highlight} open={found} lines={6} />
}
