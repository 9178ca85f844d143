/** The queue of a round: the item before one, what was just saved, and going on, skipping and undoing. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { del, post } from '../api/client'
import type { Schema } from '../api/types'
import { type Draft, EMPTY, inputOf } from './draft'
import { useReviewer } from './useReviewer'

/** For how long the graders' words stay after saving. */
export const SHOWN_MS = 2_000
const LONGEST_S = 600

/** What was saved last: for the words of the graders, and to undo it. */
interface Saved {
  number: number
  draft: Draft
  graders: Schema<'SavedVerdict'>['graders']
}

/** Judge the items of a round, one after the other. */
export function useQueue(roundId: string) {
  const client = useQueryClient()
  const [reviewer] = useReviewer()
  const key = ['review-turn', roundId, reviewer]
  const params = { round_id: roundId }
  const query = { reviewer }
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const [saved, setSaved] = useState<Saved>()
  const [revealed, setRevealed] = useState(false)
  const [took, setTook] = useState<number[]>([])
  const began = useRef(Date.now())
  const turn = useQuery({
    queryKey: key,
    // Asking is claiming: it must not happen again by itself, except while others have what is left.
    queryFn: () => post('/api/reviews/{round_id}/next', { params, query }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchInterval: ({ state }) => ((state.data?.with_others ?? 0) > 0 ? 15_000 : false),
  })
  const show = (next: Schema<'ReviewTurn'>, shown: Draft = EMPTY) => {
    client.setQueryData(key, next)
    setDraft(shown)
    began.current = Date.now()
    window.scrollTo({ top: 0 })
  }
  const save = useMutation({
    mutationFn: async (number: number) => {
      const path = '/api/reviews/{round_id}/items/{number}/verdicts' as const
      const answer = await post(path, { params: { ...params, number }, body: inputOf(draft, reviewer) })
      return { answer, next: await post('/api/reviews/{round_id}/next', { params, query }) }
    },
    onSuccess: ({ answer, next }, number) => {
      setTook([...took, Math.min((Date.now() - began.current) / 1_000, LONGEST_S)].slice(-20))
      setSaved({ number, draft, graders: answer.graders })
      setRevealed(true)
      show(next)
    },
  })
  const skip = useMutation({
    mutationFn: (number: number) =>
      post('/api/reviews/{round_id}/items/{number}/skip', { params: { ...params, number }, query }),
    onSuccess: (next) => show(next),
  })
  const undo = useMutation({
    mutationFn: (last: Saved) =>
      del('/api/reviews/{round_id}/items/{number}/verdicts', { params: { ...params, number: last.number }, query }),
    onSuccess: (back, last) => {
      setSaved(undefined)
      setRevealed(false)
      show(back, last.draft)
    },
  })
  useEffect(() => {
    if (!revealed) return
    const timer = setTimeout(() => setRevealed(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [revealed])
  const busy = save.isPending || skip.isPending || undo.isPending
  return {
    ...{ turn, draft, setDraft, saved, took, busy },
    revealed: revealed ? saved?.graders : undefined,
    error: save.error ?? skip.error ?? undo.error,
    save: (number: number) => !busy && save.mutate(number),
    skip: (number: number) => !busy && skip.mutate(number),
    undo: () => saved && !busy && undo.mutate(saved),
  }
}
