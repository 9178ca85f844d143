import {
  type Ref,
  type RefObject,
  useCallback,
  useDeferredValue,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { Schema } from '../api/types'
import { capitalized, count } from '../format'
import { Empty } from '../parts/Empty'
import { Skeleton } from '../parts/Skeleton'
import { EventRow } from './EventRow'
import { type EventDocument, opensStep } from './events'
import { cutOffWords, goesOn } from './goesOn'
import { firstOfStep } from './locate'
import styles from './page.module.css'
import type { EpisodeSearch } from './search'
import { Timeline, type TimelineHandle } from './Timeline'
import timelineStyles from './timeline.module.css'
import { useEvents } from './useEvents'
import { useFiltered } from './useFiltered'

export interface EpisodeTimelineHandle {
  goToStep: (step: number) => void
  goToEvent: (seq: number) => void
}

interface EpisodeTimelineProps {
  ref?: Ref<EpisodeTimelineHandle>
  episode: Schema<'EpisodeDetail'>
  search: EpisodeSearch
  /** Height of what covers the top of the window, in pixels. */
  top: number
  /** Position of an event to mark. */
  marked?: number
  onStep: (step: number) => void
  onCall: (seq: number) => void
}

const NO_KINDS: readonly string[] = []

/** The events of an episode, all of them or those of some kinds. */
export function EpisodeTimeline({ ref, episode, search, top, marked, onStep, onCall }: EpisodeTimelineProps) {
  const timeline = useRef<TimelineHandle>(null)
  const highlight = useDeferredValue(search.q ?? '')
  const [range, setRange] = useState({ first: 0, end: 60 })
  const { filtered, filtering, total, eventAt } = useShown(episode, search.kind ?? NO_KINDS, range)
  useWanted({
    ref,
    timeline,
    episode,
    begin: search.step,
    filtered: filtering ? filtered : undefined,
    total,
    end: range.end,
  })

  const onRange = useCallback((from: number, end: number) => setRange({ first: from, end }), [])
  const onCurrent = (row: number) => {
    const event = eventAt(row)
    if (event) onStep(event.step)
  }
  const renderRow = (row: number) => {
    const event = eventAt(row)
    if (!event) return <Placeholder key={row} row={row} />
    return (
      <EventRow
        key={row}
        row={row}
        event={event}
        eventAt={eventAt}
        opens={opensStep(row, event, eventAt)}
        highlight={highlight}
        marked={event.seq === marked}
        episode={episode}
        onCall={onCall}
      />
    )
  }
  return (
    <section className={styles.timeline} aria-label="Timeline">
      {total === 0 && !filtered.loading && <Nothing filtering={filtering} episode={episode} />}
      <Timeline
        ref={timeline}
        count={total}
        top={top}
        label="Events"
        renderRow={renderRow}
        onRange={onRange}
        onCurrent={onCurrent}
      />
      {filtering && !filtered.done && (
        <p className={styles.notice}>
          Searched {count(filtered.searched)} of {count(episode.events)} events.
        </p>
      )}
      {!filtering && total > 0 && <Going episode={episode} />}
    </section>
  )
}

/** The events that are listed: all of them, read around what is drawn, or those of some kinds as far as they are known. */
function useShown(episode: Schema<'EpisodeDetail'>, kinds: readonly string[], range: { first: number; end: number }) {
  const filtered = useFiltered(episode.id, kinds, episode.events)
  const filtering = kinds.length > 0
  const total = filtering ? filtered.items.length : episode.events
  // Events before the first row are looked at for what changed since the last observation.
  const all = useEvents(episode.id, filtering ? 0 : total, Math.max(range.first - 60, 0), range.end)
  const eventAt = useCallback(
    (place: number): EventDocument | undefined => (filtering ? filtered.items[place] : all(place)),
    [filtering, filtered.items, all],
  )
  return { filtered, filtering, total, eventAt }
}

interface WantedOptions {
  ref?: Ref<EpisodeTimelineHandle>
  timeline: RefObject<TimelineHandle | null>
  episode: Schema<'EpisodeDetail'>
  /** The step to begin at. */
  begin?: number
  /** The events that are shown, when it is not all of them. */
  filtered?: ReturnType<typeof useFiltered>
  /** How many rows there are, and the one after the last that is drawn. */
  total: number
  end: number
}

/** Go to the step that the page begins at, and where the page asks for; read on until the place is known. */
function useWanted({ ref, timeline, episode, begin, filtered, total, end }: WantedOptions) {
  const [wanted, setWanted] = useState<number | null>(null)
  const goToStep = async (step: number) => {
    const seq = await firstOfStep(episode.id, step)
    setWanted(seq ?? Math.max(episode.events - 1, 0))
  }
  useImperativeHandle(ref, () => ({ goToEvent: setWanted, goToStep: (step) => void goToStep(step) }))

  const first = useRef(begin)
  useEffect(() => {
    if (first.current) void firstOfStep(episode.id, first.current).then(setWanted)
    first.current = undefined
  }, [episode.id])

  // Among events of some kinds the place is known only once the list reaches that far.
  const items = filtered?.items
  const more = filtered?.more
  const reached = !filtered || filtered.done || (filtered.items.at(-1)?.seq ?? -1) >= (wanted ?? 0)
  useEffect(() => {
    if (more && (end >= total - 40 || !reached)) more()
  }, [end, total, reached, more])
  useLayoutEffect(() => {
    if (wanted === null || !reached || total === 0) return
    const row = items ? items.findIndex((event) => event.seq >= wanted) : wanted
    timeline.current?.goTo(row < 0 ? total - 1 : row)
    setWanted(null)
  }, [timeline, wanted, reached, total, items])
}

function Going({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  if (goesOn(episode)) return <p className={styles.notice}>In progress. New events appear here.</p>
  const words = cutOffWords(episode)
  return words === '' ? null : <p className={styles.notice}>{`${capitalized(words)}.`}</p>
}

function Nothing({ filtering, episode }: { filtering: boolean; episode: Schema<'EpisodeDetail'> }) {
  if (filtering) return <Empty title="No events of these kinds">Change the filter to see other events.</Empty>
  if (goesOn(episode)) return <Empty title="No events yet">Events appear here while the episode is played.</Empty>
  const words = cutOffWords(episode)
  return (
    <Empty title="This episode has no events">
      {words === '' ? 'It was not played, or its events were deleted.' : `${capitalized(words)}.`}
    </Empty>
  )
}

function Placeholder({ row }: { row: number }) {
  return (
    <div data-row={row} className={timelineStyles.row}>
      <div className={timelineStyles.skeleton} aria-hidden="true">
        <Skeleton width="30%" />
        <Skeleton width={`${50 + ((row * 13) % 40)}%`} />
      </div>
    </div>
  )
}
