import type { Schema } from '../api/types'
import { causeWords } from '../cause'
import { count } from '../format'
import { Button } from '../parts/Button'
import { brief } from '../renderers/marks'
import { payloadOf, textIn } from './events'
import { kindName } from './labels'
import styles from './side.module.css'
import { useFiltered } from './useFiltered'

const KINDS = ['error', 'warning', 'retry'] as const

/** Errors, warnings and retries of the episode in their order. */
export function ProblemList({
  episode,
  onEvent,
}: {
  episode: Schema<'EpisodeDetail'>
  onEvent: (seq: number, step: number) => void
}) {
  const found = useFiltered(episode.id, KINDS, episode.events)
  return (
    <div className={styles.list}>
      {found.done && !found.items.length && <p className={styles.note}>No errors, warnings or retries.</p>}
      {found.items.map((event) => {
        const payload = payloadOf(event)
        const cause = textIn(payload, 'cause')
        return (
          <button key={event.seq} type="button" className={styles.hit} onClick={() => onEvent(event.seq, event.step)}>
            <span className={styles.where}>
              step {count(event.step)} · {kindName(event.kind)}
            </span>
            {cause ? causeWords(cause).title : brief(textIn(payload, 'message'), 120)}
          </button>
        )
      })}
      {!found.done && (
        <Button look="quiet" busy={found.loading} onClick={found.more}>
          Search more: {count(found.searched)} of {count(episode.events)} events searched
        </Button>
      )}
    </div>
  )
}
