/** Documents as queries of TanStack Query, keyed by their path and what was asked. */
import { QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { get } from './client'
import { ApiError } from './error'
import type { Answer, Arguments, PathsWith } from './types'

/** The cache of the page. Failures that asking again cannot heal are shown at once. */
export function openCache(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => failures < 2 && error instanceof ApiError && error.passing,
        retryDelay: (failures) => Math.min(500 * 2 ** failures, 5_000),
      },
    },
  })
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
