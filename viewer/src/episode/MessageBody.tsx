import { useState } from 'react'
import { plural } from '../format'
import { Icon } from '../parts/Icon'
import { Marked } from '../renderers/Marked'
import { brief } from '../renderers/marks'
import { TalkView } from '../renderers/TalkView'
import { saidIn, talkOf } from '../renderers/talk'
import { type EventAt, type EventDocument, lookBack, payloadOf } from './events'
import styles from './timeline.module.css'

interface MessageBodyProps {
  row: number
  event: EventDocument
  eventAt: EventAt
  highlight: string
}

/** A message that was said for the first time. Those that only repeat what is seen elsewhere are folded to a line. */
export function MessageBody({ row, event, eventAt, highlight }: MessageBodyProps) {
  const talk = talkOf(payloadOf(event))
  const seen = lookBack(eventAt, row, (one) => one.kind === 'observation') !== undefined
  const news = talk !== null && (talk.role === 'tool' || (talk.role === 'user' && !seen))
  const found = highlight !== '' && talk !== null && saidIn(talk).toLowerCase().includes(highlight.toLowerCase())
  const [chosen, setChosen] = useState<boolean | null>(null)
  const open = chosen ?? (news || found)
  if (!talk) return <p className={styles.since}>empty message</p>
  const said = saidIn(talk)
  return (
    <>
      <button type="button" className={styles.fold} aria-expanded={open} onClick={() => setChosen(!open)}>
        <Icon name={open ? 'chevronDown' : 'chevronRight'} size={13} />
        <span className={styles.foldRole}>
          <Marked text={talk.role} />
        </span>
        {!open && (
          <span className={styles.foldText}>
            <Marked text={said ? brief(said, 200) : plural(talk.calls.length, 'tool call')} highlight={highlight} />
          </span>
        )}
      </button>
      {open && <TalkView talk={talk} highlight={highlight} open={chosen === true} />}
    </>
  )
}
