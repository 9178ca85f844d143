/** The episodes in which something was said, page by page. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { get } from '../api/client'
import type { Query, Schema } from '../api/types'

type Page = Schema<'SearchPage'>
export type Filter = Omit<NonNullable<Query<'/api/search', 'get'>>, 'text' | 'cursor' | 'limit'>

const LIMIT = 50
const AGAIN_MS = 4_000

/** Search one run, or with `filter` all runs that match it. Nothing is asked for an empty text. */
export function useSaid(text: string, where: { runId: string } | { filter: Filter }) {
  const answer = useInfiniteQuery({
    queryKey: ['said', where, text],
    queryFn: ({ pageParam, signal }): Promise<Page> => {
      const query = { text, cursor: pageParam, limit: LIMIT }
      if ('runId' in where) {
        return get('/api/runs/{run_id}/search', { params: { run_id: where.runId }, query, signal })
      }
      return get('/api/search', { query: { ...where.filter, ...query }, signal })
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.cursor ?? undefined,
    placeholderData: keepPreviousData,
    enabled: text !== '',
    // What was not indexed yet may be found soon.
    refetchInterval: ({ state }) => (isBeingIndexed(state.data?.pages ?? []) ? AGAIN_MS : false),
    // What cannot be asked will not be understood the next time either.
    retry: false,
  })
  const hits = useMemo(() => {
    // An episode that is indexed meanwhile may come a second time.
    const known = new Map(answer.data?.pages.flatMap(({ items }) => items).map((hit) => [hit.episode_id, hit]))
    return [...known.values()]
  }, [answer.data])
  return { ...answer, hits, first: answer.data?.pages[0] }
}

/** Whether an answer of one page lacks episodes that are not indexed yet. */
export function isBeingIndexed(pages: readonly Pick<Page, 'finished' | 'searched'>[]): boolean {
  const [first] = pages
  return pages.length === 1 && (first?.searched?.episodes ?? 0) < (first?.finished ?? 0)
}

export type Said = ReturnType<typeof useSaid>
