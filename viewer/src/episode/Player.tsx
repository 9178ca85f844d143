import { useRef } from 'react'
import type { Schema } from '../api/paths'
import { count } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { IconButton } from '../parts/IconButton'
import { Select } from '../parts/Select'
import { Skeleton } from '../parts/Skeleton'
import { FrameView } from './FrameView'
import styles from './player.module.css'
import { useFrame } from './useFrame'
import { SPEEDS, type Speed, usePlayback } from './usePlayback'

export interface PlayerProps {
  episode: Schema<'EpisodeDetail'>
  step: number
  lastStep: number
  onStep: (step: number) => void
}

/** Plays an episode step by step, like watching a game. */
export function Player({ episode, step, lastStep, onStep }: PlayerProps) {
  const { frame, ready } = useFrame(episode.id, step, lastStep, episode.events)
  const { playing, speed, setSpeed, toggle, stop } = usePlayback(step, lastStep, ready, onStep)
  const go = (to: number) => {
    stop()
    onStep(Math.max(0, Math.min(to, lastStep)))
  }
  const group = { group: 'Replay' }
  useShortcut(' ', 'Play or pause', toggle, group)
  useShortcut('ArrowRight', 'Next step', () => go(step + 1), group)
  useShortcut('ArrowLeft', 'Previous step', () => go(step - 1), group)
  useShortcut('Home', 'To the beginning', () => go(0), group)
  useShortcut('End', 'To the end', () => go(lastStep), group)
  // The frame before stays until the next one is there, so that nothing flickers.
  const shown = useRef(frame)
  if (frame) shown.current = frame
  return (
    <section className={styles.player} aria-label="Replay">
      <div className={styles.controls}>
        <IconButton icon="back" label="To the beginning (home)" disabled={step === 0} onClick={() => go(0)} />
        <IconButton icon="chevronLeft" label="Previous step (←)" disabled={step === 0} onClick={() => go(step - 1)} />
        <IconButton
          icon={playing ? 'pause' : 'play'}
          label={playing ? 'Pause (space)' : 'Play (space)'}
          onClick={toggle}
        />
        <IconButton
          icon="chevronRight"
          label="Next step (→)"
          disabled={step >= lastStep}
          onClick={() => go(step + 1)}
        />
        <IconButton icon="forward" label="To the end (end)" disabled={step >= lastStep} onClick={() => go(lastStep)} />
        <input
          className={styles.scrubber}
          type="range"
          aria-label="Step"
          aria-valuetext={`step ${step} of ${lastStep}`}
          min={0}
          max={Math.max(lastStep, 1)}
          value={step}
          onChange={(event) => go(Number(event.target.value))}
        />
        <span className="number">
          {count(step)} / {count(lastStep)}
        </span>
        <Select<Speed>
          label="Speed"
          hideLabel
          value={speed}
          onChange={setSpeed}
          options={SPEEDS.map((value) => ({ value, label: `${value} steps/s` }))}
        />
      </div>
      {shown.current ? <FrameView frame={shown.current} /> : <Skeleton height="20rem" />}
    </section>
  )
}
