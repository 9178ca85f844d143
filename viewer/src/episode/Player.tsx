import { useState } from 'react'
import type { Schema } from '../api/types'
import { Skeleton } from '../parts/Skeleton'
import { FrameView } from './FrameView'
import { PlayerControls } from './PlayerControls'
import styles from './player.module.css'
import { useFrame } from './useFrame'

interface PlayerProps {
  episode: Schema<'EpisodeDetail'>
  step: number
  lastStep: number
  onStep: (step: number) => void
}

/** Plays an episode step by step, like watching a game. */
export function Player({ episode, step, lastStep, onStep }: PlayerProps) {
  const frame = useFrame(episode.id, step, lastStep, episode.events)
  // The frame before stays until the next one is there, so that nothing flickers.
  const [shown, setShown] = useState(frame)
  if (frame && frame !== shown) setShown(frame)
  return (
    <section className={styles.player} aria-label="Replay">
      <PlayerControls step={step} lastStep={lastStep} ready={frame !== null} onStep={onStep} />
      {shown ? <FrameView frame={shown} named={episode.view} /> : <Skeleton height="20rem" />}
    </section>
  )
}
