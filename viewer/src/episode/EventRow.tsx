import { memo, useState } from 'react'
import type { Schema } from '../api/types'
import { IconButton } from '../parts/IconButton'
import { place } from '../place'
import { JsonTree } from '../renderers/JsonTree'
import { EventBody } from './EventBody'
import type { EventAt, EventDocument } from './events'
import { labelOf } from './labels'
import { isContinued } from './log'
import { StepHead } from './StepHead'
import styles from './timeline.module.css'

export interface EventRowProps {
  row: number
  event: EventDocument
  /** Access to the events around it, by position. */
  eventAt: EventAt
  /** Whether it is the first of its step. */
  opens: boolean
  highlight: string
  marked: boolean
  episode: Schema<'EpisodeDetail'>
  onCall: (seq: number) => void
}

/** Whether an episode has steps that can be played again here: on a laptop, and not those of a program. */
function canFork(episode: Schema<'EpisodeDetail'>): boolean {
  return place.mode === 'laptop' && episode.steps > 1 && !WHOLE.has(episode.run.kind)
}

const WHOLE = new Set(['rollout', 'rows', 'scan', 'hosted', 'imported'])

/** One event of the timeline, with a heading when a step begins with it. */
export const EventRow = memo(function EventRow(props: EventRowProps) {
  const { row, event, opens, marked, episode } = props
  const [raw, setRaw] = useState(false)
  const { label, tone } = labelOf(event)
  if (isContinued(row, event, props.eventAt)) return <div data-row={row} id={`event-${event.seq}`} />
  return (
    <div data-row={row} id={`event-${event.seq}`} className={styles.row}>
      {opens && (
        <StepHead
          episodeId={episode.id}
          step={event.step}
          at={event.at}
          start={episode.started_at}
          forks={canFork(episode)}
        />
      )}
      <article className={styles.event} data-tone={tone} data-marked={marked || undefined} aria-label={label}>
        <span className={styles.kind}>{label}</span>
        <div className={styles.body}>
          {raw ? <JsonTree value={event} label={`Event ${event.seq} as recorded`} /> : <EventBody {...props} />}
        </div>
        <span className={styles.raw}>
          <IconButton
            icon="list"
            size="sm"
            label={raw ? 'Show formatted' : `Event ${event.seq} as recorded (JSON)`}
            aria-pressed={raw}
            onClick={() => setRaw(!raw)}
          />
        </span>
      </article>
    </div>
  )
})
