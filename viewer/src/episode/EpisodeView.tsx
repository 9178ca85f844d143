import { useCallback, useRef } from 'react'
import { Button } from '../parts/Button'
import { useSize } from '../parts/useSize'
import { FailureView } from '../renderers/FailureView'
import { isRollout } from '../run/results/rollout'
import { CallDialog } from './CallDialog'
import { EpisodeTimeline, type EpisodeTimelineHandle } from './EpisodeTimeline'
import { Player } from './Player'
import styles from './page.module.css'
import { SidePanel } from './SidePanel'
import { SampleView } from './sample/SampleView'
import { Toolbar } from './Toolbar'
import { type EpisodeViewProps, usePlace } from './usePlace'

/** Height of the bar at the top of every page, in pixels, and room below what sticks to it. */
const BAR = 48
const GAP = 8

/** Everything below the numbers: the failure, the outline, the timeline or the player. */
export function EpisodeView({ episode, search, change }: EpisodeViewProps) {
  const toolbar = useRef<HTMLDivElement>(null)
  const { height } = useSize(toolbar)
  const timeline = useRef<EpisodeTimelineHandle>(null)
  const place = usePlace({ episode, search, change }, timeline)
  const { step, setStep, lastStep, toStep, hits, hitAt, toHit, toEvent, toError, replay } = place
  const openCall = useCallback((call: number) => change({ call }, false), [change])
  return (
    <>
      {episode.failure && (
        <FailureView failure={episode.failure}>
          <Button icon="arrowDown" onClick={() => void toError()}>
            Jump to where it happened
          </Button>
        </FailureView>
      )}
      {isRollout(episode.run) && !replay && <SampleView episode={episode} highlight={search.q ?? ''} />}
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
        follow={place.follow}
        onFollow={place.setFollow}
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
