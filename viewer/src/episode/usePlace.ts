import { type RefObject, useEffect, useRef, useState } from 'react'
import type { Schema } from '../api/types'
import { useShortcut } from '../keys/useShortcut'
import { viewOf } from './answer/oneTurn'
import type { EpisodeTimelineHandle } from './EpisodeTimeline'
import { goesOn } from './goesOn'
import { errorIn } from './locate'
import type { EpisodeSearch } from './search'
import { useHits } from './useHits'
import { useLastStep } from './useLastStep'

export interface EpisodeViewProps {
  episode: Schema<'EpisodeDetail'>
  search: EpisodeSearch
  change: (part: Partial<EpisodeSearch>, replace?: boolean) => void
}

/** Where in the episode the reader is, and all ways to get elsewhere: steps, hits of the search, the error. */
export function usePlace(
  { episode, search, change }: EpisodeViewProps,
  timeline: RefObject<EpisodeTimelineHandle | null>,
) {
  const [step, setStep] = useState(search.step ?? 0)
  const [hitAt, setHitAt] = useState(-1)
  const [follow, setFollow] = useState(false)
  const lastStep = useLastStep(episode)
  const hits = useHits(episode.id, search.q ?? '')
  const view = viewOf(episode, search)
  const replay = view === 'replay'

  const toStep = (wanted: number) => {
    const next = Math.max(0, Math.min(wanted, lastStep))
    setStep(next)
    change({ step: next })
    if (!replay) timeline.current?.goToStep(next)
  }
  const toEvent = (seq: number, atStep: number) => {
    setStep(atStep)
    if (view === 'conversation') change({ view: 'timeline', step: atStep })
    else if (replay) change({ step: atStep })
    else timeline.current?.goToEvent(seq)
  }
  const toHit = (at: number) => {
    const place = hits.items.length ? (at + hits.items.length) % hits.items.length : -1
    const hit = hits.items[place]
    setHitAt(place)
    if (hit && !(view === 'conversation' && toMark(place))) toEvent(hit.seq, hit.step)
  }
  const toError = async () => {
    const seq = await errorIn(episode.id, episode.events)
    if (seq === null) return
    if (view !== 'timeline') change({ view: 'timeline' })
    else timeline.current?.goToEvent(seq)
  }
  const growing = goesOn(episode)
  const latest = useRef(toStep)
  useEffect(() => {
    latest.current = toStep
  })
  useEffect(() => {
    if (follow && growing) latest.current(lastStep)
  }, [follow, growing, lastStep])
  usePlaceKeys(episode, { step, toStep, hits: hits.items.length, hitAt, toHit, toError })
  useShortcut('v', 'Timeline or replay', () => change({ view: replay ? 'timeline' : 'replay', step }), {
    group: 'Episode',
  })
  // Once there will be no newer step, there is none to follow.
  const following = growing ? follow : undefined
  return { step, setStep, lastStep, toStep, hits, hitAt, toHit, toEvent, toError, view, follow: following, setFollow }
}

/** Scroll to a marked word of the conversation; false where none is marked, as when only the grader said it. */
function toMark(place: number): boolean {
  const marks = document.querySelectorAll('article mark')
  marks[place % marks.length]?.scrollIntoView({ block: 'center' })
  return marks.length > 0
}

interface Ways {
  step: number
  toStep: (step: number) => void
  hits: number
  hitAt: number
  toHit: (at: number) => void
  toError: () => Promise<void>
}

function usePlaceKeys(episode: Schema<'EpisodeDetail'>, { step, toStep, hits, hitAt, toHit, toError }: Ways): void {
  const failed = episode.failure !== null
  const group = { group: 'Episode' }
  useShortcut('j', 'Next step', () => toStep(step + 1), { ...group, step: true })
  useShortcut('k', 'Previous step', () => toStep(step - 1), { ...group, step: true })
  useShortcut('n', 'Next hit', () => toHit(hitAt + 1), { ...group, enabled: hits > 0 })
  useShortcut('F3', 'Next hit', () => toHit(hitAt + 1), { ...group, enabled: hits > 0, step: true })
  useShortcut('Shift+F3', 'Previous hit', () => toHit(hitAt - 1), { ...group, enabled: hits > 0, step: true })
  useShortcut('p', 'Previous hit', () => toHit(hitAt - 1), { ...group, enabled: hits > 0 })
  useShortcut('e', 'Jump to the error', () => void toError(), { ...group, enabled: failed })
}
