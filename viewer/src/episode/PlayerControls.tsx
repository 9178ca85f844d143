import type { ReactNode } from 'react'
import { count } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { IconButton } from '../parts/IconButton'
import { Select } from '../parts/Select'
import styles from './player.module.css'
import { SPEEDS, type Speed, usePlayback } from './usePlayback'

interface PlayerControlsProps {
  step: number
  lastStep: number
  /** Whether what belongs to the step is on show; playing waits for it. */
  ready: boolean
  onStep: (step: number) => void
  /** More controls at the end. */
  children?: ReactNode
}

const GROUP = { group: 'Replay' }
const STEP = { ...GROUP, step: true }

/** Play, pause, speed and scrubber, with their keys. */
export function PlayerControls({ step, lastStep, ready, onStep, children }: PlayerControlsProps) {
  const { playing, speed, setSpeed, toggle, stop } = usePlayback(step, lastStep, ready, onStep)
  const go = (to: number) => {
    stop()
    onStep(Math.max(0, Math.min(to, lastStep)))
  }
  useShortcut(' ', 'Play or pause', toggle, GROUP)
  useShortcut('ArrowRight', 'Next step', () => go(step + 1), STEP)
  useShortcut('ArrowLeft', 'Previous step', () => go(step - 1), STEP)
  useShortcut('Home', 'Go to the beginning', () => go(0), GROUP)
  useShortcut('End', 'Go to the end', () => go(lastStep), GROUP)
  const first = step <= 0
  const last = step >= lastStep
  return (
    <div className={styles.controls}>
      <IconButton icon="back" label="Go to the beginning (Home)" disabled={first} onClick={() => go(0)} />
      <IconButton icon="chevronLeft" label="Previous step (←)" disabled={first} onClick={() => go(step - 1)} />
      <IconButton
        icon={playing ? 'pause' : 'play'}
        label={playing ? 'Pause (Space)' : 'Play (Space)'}
        onClick={toggle}
      />
      <IconButton icon="chevronRight" label="Next step (→)" disabled={last} onClick={() => go(step + 1)} />
      <IconButton icon="forward" label="Go to the end (End)" disabled={last} onClick={() => go(lastStep)} />
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
      {children}
    </div>
  )
}
