import { useQueries } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Schema } from '../api/paths'
import { documentQuery } from '../api/query'
import { reveal, view } from '../parts/windowing'
import { goesOn } from './goesOn'
import { OutlineItem } from './OutlineItem'
import styles from './side.module.css'

const ROW = 30
const PAGE = 200

export interface OutlineProps {
  episode: Schema<'EpisodeDetail'>
  step: number
  lastStep: number
  onStep: (step: number) => void
}

/** Every step on a line of its own: what was done, what it brought, what went wrong. */
export function Outline({ episode, step, lastStep, onStep }: OutlineProps) {
  const box = useRef<HTMLDivElement>(null)
  const [place, setPlace] = useState({ top: 0, height: 600 })
  const total = lastStep + 1
  const shown = view(total, ROW, place.top, place.height)
  const steps = useSteps(episode, shown.first, shown.last)

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
  }, [])

  useEffect(() => {
    const element = box.current
    if (!element) return
    const top = reveal(step, total, ROW, element.scrollTop, element.clientHeight)
    if (Math.abs(top - element.scrollTop) > 1) element.scrollTop = top
  }, [step, total])

  const items = []
  for (let one = shown.first; one <= shown.last; one++) {
    items.push(<OutlineItem key={one} step={one} summary={steps.get(one)} current={one === step} onStep={onStep} />)
  }
  return (
    <div ref={box} className={styles.list}>
      <div style={{ height: shown.height, position: 'relative' }}>
        <div style={{ position: 'absolute', insetInline: 0, top: shown.offset }}>{items}</div>
      </div>
    </div>
  )
}

/** Read the outline of steps in pages that begin at multiples of 200. */
function useSteps(episode: Schema<'EpisodeDetail'>, first: number, last: number) {
  const starts: number[] = []
  for (let from = first - (first % PAGE); from <= last; from += PAGE) starts.push(from)
  const growing = goesOn(episode)
  const results = useQueries({
    queries: starts.map((from) => ({
      ...documentQuery('/v1/episodes/{episode_id}/steps', {
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
