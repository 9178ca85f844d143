import { useState } from 'react'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { HitList } from './HitList'
import { Outline } from './Outline'
import { ProblemList } from './ProblemList'
import styles from './side.module.css'
import type { Hits } from './useHits'

interface SidePanelProps {
  episode: Schema<'EpisodeDetail'>
  step: number
  lastStep: number
  toStep: (step: number) => void
  hits: Hits
  hitAt: number
  toHit: (at: number) => void
  toEvent: (seq: number, step: number) => void
}

type Shown = 'steps' | 'problems'

/** Beside the timeline: the steps, the problems, or what was found. */
export function SidePanel({ episode, step, lastStep, toStep, hits, hitAt, toHit, toEvent }: SidePanelProps) {
  const [shown, setShown] = useState<Shown>('steps')
  const [open, setOpen] = useState(false)
  const searching = hits.items.length > 0
  return (
    <aside className={styles.side} data-open={open || undefined} aria-label="Outline">
      <Button className={styles.opener} icon="list" aria-expanded={open} onClick={() => setOpen(!open)}>
        Steps
      </Button>
      <div className={styles.inside}>
        {searching ? (
          <HitList hits={hits} at={hitAt} onHit={toHit} />
        ) : (
          <>
            {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form */}
            <div className={styles.choice} role="group" aria-label="List">
              <Button look="quiet" aria-pressed={shown === 'steps'} onClick={() => setShown('steps')}>
                Steps
              </Button>
              <Button look="quiet" aria-pressed={shown === 'problems'} onClick={() => setShown('problems')}>
                Problems
              </Button>
            </div>
            {shown === 'steps' ? (
              <Outline episode={episode} step={step} lastStep={lastStep} onStep={toStep} />
            ) : (
              <ProblemList episode={episode} onEvent={toEvent} />
            )}
          </>
        )}
      </div>
    </aside>
  )
}
