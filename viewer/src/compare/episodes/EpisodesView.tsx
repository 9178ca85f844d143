import { useState } from 'react'
import type { Schema } from '../../api/types'
import type { Frame } from '../../episode/frame'
import { PlayerControls } from '../../episode/PlayerControls'
import { useFrame } from '../../episode/useFrame'
import { useLastStep } from '../../episode/useLastStep'
import { count } from '../../format'
import { useShortcut } from '../../keys/useShortcut'
import { Button } from '../../parts/Button'
import { AlignedSteps } from './AlignedSteps'
import { EpisodeSide } from './EpisodeSide'
import styles from './episodes.module.css'
import { FrameDifference } from './FrameDifference'
import { type Difference, useDifference } from './useDifference'

interface EpisodesViewProps {
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  step: number | undefined
  onStep: (step: number) => void
}

/** Two episodes at the same step, moved together. */
export function EpisodesView({ a, b, step: asked, onStep }: EpisodesViewProps) {
  const lastA = useLastStep(a)
  const lastB = useLastStep(b)
  const last = Math.max(lastA, lastB)
  const step = Math.min(asked ?? 0, last)
  const frameA = useKept(useFrame(a.id, Math.min(step, lastA), lastA, a.events))
  const frameB = useKept(useFrame(b.id, Math.min(step, lastB), lastB, b.events))
  const difference = useDifference(a.id, b.id)
  const toDifference = () => {
    if (difference.step !== null) onStep(difference.step)
  }
  const group = { group: 'Two episodes' }
  useShortcut('j', 'Next step', () => onStep(Math.min(step + 1, last)), { ...group, step: true })
  useShortcut('k', 'Previous step', () => onStep(Math.max(step - 1, 0)), { ...group, step: true })
  useShortcut('d', 'Go to the first difference', toDifference, { ...group, enabled: difference.step !== null })
  const ready = frameA.at === Math.min(step, lastA) && frameB.at === Math.min(step, lastB)
  return (
    <div className={styles.view}>
      <div className={styles.bar}>
        <PlayerControls step={step} lastStep={last} ready={ready} onStep={onStep} />
        <p className={styles.difference}>
          <span role="status">{told(difference)}</span>
          {difference.step !== null && (
            <Button look="quiet" icon="arrowRight" onClick={toDifference}>
              Go to it
            </Button>
          )}
        </p>
      </div>
      <div className={styles.columns}>
        <AlignedSteps a={a} b={b} step={step} last={last} first={difference.step} onStep={onStep} />
        <div className={styles.both}>
          <div className={styles.sides}>
            <EpisodeSide name="A" episode={a} frame={frameA.frame} over={step > lastA ? lastA : null} />
            <EpisodeSide name="B" episode={b} frame={frameB.frame} over={step > lastB ? lastB : null} />
          </div>
          {frameA.frame && frameB.frame && <FrameDifference a={frameA.frame} b={frameB.frame} />}
        </div>
      </div>
    </div>
  )
}

/** The frame that was there before stays until the next one is read. */
function useKept(frame: Frame | null): { frame: Frame | null; at: number } {
  const [kept, setKept] = useState(frame)
  if (frame && frame !== kept) setKept(frame)
  return { frame: frame ?? kept, at: (frame ?? kept)?.step ?? -1 }
}

function told({ step, done, same }: Difference): string {
  if (step !== null) return `The actions first differ at step ${count(step)}.`
  return done ? 'The actions are the same in every step.' : `The same up to step ${count(same)}; still comparing…`
}
