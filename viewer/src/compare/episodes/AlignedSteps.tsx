import { useQueries } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { documentQuery } from '../../api/query'
import type { Schema } from '../../api/types'
import { reveal, view } from '../../parts/windowing'
import { AlignedStep } from './AlignedStep'
import { pair, type Summary } from './align'
import styles from './episodes.module.css'

const ROW = 30
const PAGE = 200

interface AlignedStepsProps {
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  step: number
  last: number
  /** The first step with another action. */
  first: number | null
  onStep: (step: number) => void
}

/** The steps of both episodes, line by line. */
export function AlignedSteps({ a, b, step, last, first, onStep }: AlignedStepsProps) {
  const box = useRef<HTMLDivElement>(null)
  const [place, setPlace] = useState({ top: 0, height: 600 })
  const shown = view(last + 1, ROW, place.top, place.height)
  const left = useSummaries(a.id, shown.first, shown.last)
  const right = useSummaries(b.id, shown.first, shown.last)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => setPlace({ top: element.scrollTop, height: element.clientHeight || 600 })
    look()
    element.addEventListener('scroll', look, { passive: true })
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', look)
      observer.disconnect()
    }
  }, [])
  useEffect(() => {
    const element = box.current
    if (element) element.scrollTop = reveal(step, last + 1, ROW, element.scrollTop, element.clientHeight)
  }, [step, last])
  const rows = []
  for (let one = shown.first; one <= shown.last; one++) {
    const loaded = left.has(one) || right.has(one)
    rows.push(
      <AlignedStep
        key={one}
        pair={pair(one, left.get(one) ?? null, right.get(one) ?? null)}
        loaded={loaded}
        current={one === step}
        first={one === first}
        onStep={onStep}
      />,
    )
  }
  return (
    <aside className={styles.steps} aria-label="Steps of both episodes">
      <p className={styles.stepsHead}>
        <span>step</span>
        <span>A</span>
        <span>B</span>
      </p>
      <div ref={box} className={styles.list}>
        <div style={{ height: shown.height, position: 'relative' }}>
          <div style={{ position: 'absolute', insetInline: 0, top: shown.offset }}>{rows}</div>
        </div>
      </div>
    </aside>
  )
}

function useSummaries(id: string, first: number, last: number): Map<number, Summary> {
  const starts: number[] = []
  for (let from = first - (first % PAGE); from <= last; from += PAGE) starts.push(from)
  const results = useQueries({
    queries: starts.map((from) => ({
      ...documentQuery('/api/episodes/{episode_id}/steps', {
        params: { episode_id: id },
        query: { from, limit: PAGE },
      }),
      gcTime: 30_000,
    })),
  })
  const found = new Map<number, Summary>()
  for (const result of results) for (const item of result.data?.items ?? []) found.set(item.step, item)
  return found
}
