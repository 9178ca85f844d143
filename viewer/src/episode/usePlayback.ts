import { useEffect, useRef, useState } from 'react'

export const SPEEDS = ['0.5', '1', '2', '4', '8', '16'] as const
export type Speed = (typeof SPEEDS)[number]

interface Playback {
  playing: boolean
  speed: Speed
  setSpeed: (speed: Speed) => void
  toggle: () => void
  stop: () => void
}

/** Go from step to step in time; a step that is still being read is waited for, the last one ends it. */
export function usePlayback(step: number, last: number, ready: boolean, onStep: (step: number) => void): Playback {
  const [playing, setPlaying] = useState(false)
  const [speed, setSpeed] = useState<Speed>('2')
  const latest = useRef(onStep)
  useEffect(() => {
    latest.current = onStep
  }, [onStep])
  useEffect(() => {
    if (!playing || !ready) return
    if (step >= last) {
      setPlaying(false)
      return
    }
    const timer = setTimeout(() => latest.current(step + 1), 1_000 / Number(speed))
    return () => clearTimeout(timer)
  }, [playing, ready, step, last, speed])
  const toggle = () => {
    if (!playing && step >= last) latest.current(0)
    setPlaying(!playing)
  }
  return { playing, speed, setSpeed, toggle, stop: () => setPlaying(false) }
}
