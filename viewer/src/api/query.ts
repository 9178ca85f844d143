/** Documents as queries of TanStack Query, keyed by their path and what was asked. */
import { QueryCache, QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { get } from './client'
import { ApiError } from './error'
import type { Answer, Arguments, PathsWith } from './types'

/** After how long a document is asked for again that a server did not answer, in ms. */
export const AGAIN_MS = 3_000

/**
 * The cache of the page. Failures that asking again cannot heal are shown at once. What the server did not answer is
 * shown too, and asked for again while it is in sight: the page says that it reconnects by itself.
 */
export function openCache(): QueryClient {
  const queryCache = new QueryCache({
    onError: (error, query) => {
      if (!(error instanceof ApiError && error.status === 0)) return
      setTimeout(() => {
        const filter = { queryKey: query.queryKey, exact: true, type: 'active' } as const
        void cache.refetchQueries({ ...filter, predicate: ({ state }) => state.error === error })
      }, AGAIN_MS)
    },
  })
  const cache = new QueryClient({
    queryCache,
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < 2 && error instanceof ApiError && error.passing,
        retryDelay: (failures) => Math.min(500 * 2 ** failures, 5_000),
      },
    },
  })
  return cache
}

/** Options of a query for a document: for `useQuery`, `prefetchQuery`, `setQueryData`, `invalidateQueries`. */
export function documentQuery<P extends PathsWith<'get'>>(path: P, ...[request]: Arguments<P, 'get'>) {
  const { params, query } = (request ?? {}) as { params?: unknown; query?: unknown }
  return queryOptions<Answer<P, 'get'>>({
    queryKey: [path, params ?? null, query ?? null],
    queryFn: ({ signal }) => get(path, ...([{ ...request, signal }] as unknown as Arguments<P, 'get'>)),
  })
}

/** Read a document and keep it fresh. */
export function useDocument<P extends PathsWith<'get'>>(path: P, ...request: Arguments<P, 'get'>) {
  return useQuery(documentQuery(path, ...request))
}
