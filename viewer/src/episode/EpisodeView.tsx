import { useCallback, useEffect, useRef, useState } from 'react'
import type { Schema } from '../api/paths'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { useSize } from '../parts/useSize'
import { FailureView } from '../renderers/FailureView'
import { CallDialog } from './CallDialog'
import { EpisodeTimeline, type EpisodeTimelineHandle } from './EpisodeTimeline'
import { errorIn } from './locate'
import { Player } from './Player'
import styles from './page.module.css'
import { SidePanel } from './SidePanel'
import type { EpisodeSearch } from './search'
import { Toolbar } from './Toolbar'
import { isOpen } from './useEpisode'
import { useHits } from './useHits'
import { useLastStep } from './useLastStep'

export interface EpisodeViewProps {
  episode: Schema<'EpisodeDetail'>
  search: EpisodeSearch
  change: (part: Partial<EpisodeSearch>, replace?: boolean) => void
}

/** Height of the bar at the top of every page, in pixels, and room below what sticks to it. */
const BAR = 48
const GAP = 8

/** Everything below the numbers: the failure, the outline, the timeline or the player. */
export function EpisodeView({ episode, search, change }: EpisodeViewProps) {
  const toolbar = useRef<HTMLDivElement>(null)
  const { height } = useSize(toolbar)
  const timeline = useRef<EpisodeTimelineHandle>(null)
  const [step, setStep] = useState(search.step ?? 0)
  const [hitAt, setHitAt] = useState(-1)
  const [follow, setFollow] = useState(false)
  const lastStep = useLastStep(episode)
  const hits = useHits(episode.id, search.q ?? '')
  const replay = search.view === 'replay'

  const toStep = (wanted: number) => {
    const next = Math.max(0, Math.min(wanted, lastStep))
    setStep(next)
    change({ step: next })
    if (!replay) timeline.current?.goToStep(next)
  }
  const toEvent = (seq: number, atStep: number) => {
    setStep(atStep)
    if (replay) change({ step: atStep })
    else timeline.current?.goToEvent(seq)
  }
  const toHit = (at: number) => {
    const place = hits.items.length ? (at + hits.items.length) % hits.items.length : -1
    const hit = hits.items[place]
    setHitAt(place)
    if (hit) toEvent(hit.seq, hit.step)
  }
  const toError = async () => {
    const seq = await errorIn(episode.id, episode.events)
    if (seq === null) return
    if (replay) change({ view: undefined })
    else timeline.current?.goToEvent(seq)
  }
  const openCall = useCallback((call: number) => change({ call }, false), [change])
  const growing = isOpen(episode.state)
  const latest = useRef(toStep)
  useEffect(() => {
    latest.current = toStep
  })
  useEffect(() => {
    if (follow && growing) latest.current(lastStep)
  }, [follow, growing, lastStep])

  const failed = episode.failure !== null
  const group = { group: 'Episode' }
  useShortcut('j', 'Next step', () => toStep(step + 1), group)
  useShortcut('k', 'Previous step', () => toStep(step - 1), group)
  useShortcut('n', 'Next hit', () => toHit(hitAt + 1), { ...group, enabled: hits.items.length > 0 })
  useShortcut('p', 'Previous hit', () => toHit(hitAt - 1), { ...group, enabled: hits.items.length > 0 })
  useShortcut('e', 'Jump to the error', () => void toError(), { ...group, enabled: failed })
  useShortcut('v', 'Timeline or replay', () => change({ view: replay ? undefined : 'replay', step }), group)

  return (
    <>
      {episode.failure && (
        <FailureView failure={episode.failure}>
          <Button icon="arrowDown" onClick={() => void toError()}>
            Jump to where it happened
          </Button>
        </FailureView>
      )}
      <Toolbar
        ref={toolbar}
        search={search}
        change={change}
        step={step}
        lastStep={lastStep}
        toStep={toStep}
        hits={hits}
        hitAt={hitAt}
        toHit={toHit}
        follow={growing ? follow : undefined}
        onFollow={setFollow}
      />
      {replay ? (
        <Player episode={episode} step={Math.min(search.step ?? 0, lastStep)} lastStep={lastStep} onStep={toStep} />
      ) : (
        <div className={styles.columns}>
          <SidePanel
            episode={episode}
            step={step}
            lastStep={lastStep}
            toStep={toStep}
            hits={hits}
            hitAt={hitAt}
            toHit={toHit}
            toEvent={toEvent}
          />
          <EpisodeTimeline
            ref={timeline}
            episode={episode}
            search={search}
            top={BAR + (height || 60) + GAP}
            marked={hits.items[hitAt]?.seq}
            onStep={setStep}
            onCall={openCall}
          />
        </div>
      )}
      <CallDialog episodeId={episode.id} seq={search.call} onClose={() => change({ call: undefined })} />
    </>
  )
}
