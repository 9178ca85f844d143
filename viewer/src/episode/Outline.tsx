import { useQueries } from '@tanstack/react-query'
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { reveal, type View, view } from '../parts/windowing'
import { goesOn } from './goesOn'
import { OutlineItem } from './OutlineItem'
import styles from './side.module.css'
import { useOneStop } from './useOneStop'

const ROW = 30
const PAGE = 200

interface OutlineProps {
  episode: Schema<'EpisodeDetail'>
  step: number
  lastStep: number
  onStep: (step: number) => void
}

/** Every step on a line of its own: what was done, what it brought, what went wrong. */
export function Outline({ episode, step, lastStep, onStep }: OutlineProps) {
  const box = useRef<HTMLDivElement>(null)
  const place = usePlaceOf(box)
  const total = lastStep + 1
  const shown = view(total, ROW, place.top, place.height)
  const steps = useSteps(episode, shown.first, shown.last)
  const show = useCallback(
    (one: number) => {
      const element = box.current
      if (!element) return
      const top = reveal(one, total, ROW, element.scrollTop, element.clientHeight)
      if (Math.abs(top - element.scrollTop) > 1) element.scrollTop = top
    },
    [total],
  )
  const page = Math.max(1, Math.floor(place.height / ROW) - 1)
  const { stop, moved, handlers } = useOneStop(box, { total, step, page, show })
  // Who moves here by keys stays where the keys are, while the page beside it still comes to its step.
  useEffect(() => {
    if (!moved) show(step)
  }, [step, show, moved])

  return (
    <div ref={box} role="toolbar" aria-orientation="vertical" aria-label="Steps" className={styles.list} {...handlers}>
      <div style={{ height: shown.height, position: 'relative' }}>
        {drawnSteps(shown, stop).map((one) => (
          <OutlineItem
            key={one}
            step={one}
            summary={steps.get(one)}
            top={shown.offset + (one - shown.first) * ROW}
            current={one === step}
            stop={one === stop}
            onStep={onStep}
          />
        ))}
      </div>
    </div>
  )
}

/** The steps in view, and the one that Tab reaches wherever it is. */
function drawnSteps({ first, last }: View, stop: number): number[] {
  const steps = Array.from({ length: last - first + 1 }, (_none, at) => first + at)
  if (stop < first) return [stop, ...steps]
  return stop > last ? [...steps, stop] : steps
}

/** Which part of a list is in view. */
function usePlaceOf(box: RefObject<HTMLDivElement | null>) {
  const [place, setPlace] = useState({ top: 0, height: 600 })
  useEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => setPlace({ top: element.scrollTop, height: element.clientHeight || 600 })
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [box])
  return place
}

/** Read the outline of steps in pages that begin at multiples of 200. */
function useSteps(episode: Schema<'EpisodeDetail'>, first: number, last: number) {
  const starts: number[] = []
  for (let from = first - (first % PAGE); from <= last; from += PAGE) starts.push(from)
  const growing = goesOn(episode)
  const results = useQueries({
    queries: starts.map((from) => ({
      ...documentQuery('/api/episodes/{episode_id}/steps', {
        params: { episode_id: episode.id },
        query: { from, limit: PAGE },
      }),
      gcTime: 30_000,
      staleTime: growing ? 0 : Number.POSITIVE_INFINITY,
      refetchInterval: growing ? 2_000 : (false as const),
    })),
  })
  const steps = new Map<number, Schema<'StepSummary'>>()
  for (const result of results) for (const item of result.data?.items ?? []) steps.set(item.step, item)
  return steps
}
