import { type CSSProperties, useCallback, useRef } from 'react'
import { Button } from '../parts/Button'
import { useSize } from '../parts/useSize'
import { FailureView } from '../renderers/FailureView'
import { YourVerdict } from '../reviews/YourVerdict'
import { isRollout } from '../run/results/rollout'
import { Against } from './answer/Against'
import { Attempts } from './answer/Attempts'
import answerStyles from './answer/answer.module.css'
import { FactsPanel } from './answer/FactsPanel'
import { OneTurn } from './answer/OneTurn'
import { isOneTurn } from './answer/oneTurn'
import { Strip } from './answer/Strip'
import { useSticks } from './answer/useSticks'
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
  const strip = useRef<HTMLDivElement>(null)
  const { height } = useSize(toolbar)
  const { height: stripHeight } = useSize(strip)
  const sticks = useSticks()
  const above = sticks && stripHeight > 0 ? stripHeight + GAP : 0
  const timeline = useRef<EpisodeTimelineHandle>(null)
  const place = usePlace({ episode, search, change }, timeline)
  const { step, setStep, lastStep, toStep, hits, hitAt, toHit, toEvent, toError, view } = place
  const openCall = useCallback((call: number) => change({ call }, false), [change])
  return (
    <div className={styles.view} style={{ '--strip': `${above}px` } as CSSProperties}>
      <Strip ref={strip} episode={episode} />
      {episode.failure && (
        <FailureView failure={episode.failure}>
          <Button icon="arrowDown" onClick={() => void toError()}>
            Jump to where it happened
          </Button>
        </FailureView>
      )}
      {isRollout(episode.run) && view === 'timeline' && (
        <>
          <Against episode={episode} />
          <SampleView episode={episode} highlight={search.q ?? ''} />
        </>
      )}
      {view !== 'conversation' && <YourVerdict folded episodeId={episode.id} />}
      <Toolbar
        ref={toolbar}
        view={view}
        oneTurn={isOneTurn(episode)}
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
      {view === 'conversation' && (
        <div className={answerStyles.columns}>
          <div className={answerStyles.main}>
            <OneTurn episode={episode} highlight={search.q} onCall={openCall} />
            <Against episode={episode} />
            <Attempts episode={episode} />
          </div>
          <aside className={answerStyles.main} aria-label="Verdict and facts">
            <YourVerdict episodeId={episode.id} />
            <FactsPanel episode={episode} />
          </aside>
        </div>
      )}
      {view === 'replay' && (
        <Player episode={episode} step={Math.min(search.step ?? 0, lastStep)} lastStep={lastStep} onStep={toStep} />
      )}
      {view === 'timeline' && (
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
            top={BAR + above + (height || 60) + GAP}
            marked={hits.items[hitAt]?.seq}
            onStep={setStep}
            onCall={openCall}
          />
        </div>
      )}
      <CallDialog episodeId={episode.id} seq={search.call} onClose={() => change({ call: undefined })} />
    </div>
  )
}
