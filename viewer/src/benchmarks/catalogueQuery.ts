import { infiniteQueryOptions } from '@tanstack/react-query'
import { get } from '../api/client'
import type { Schema } from '../api/types'

const PAGE = 100

/** The query of the catalogue, page by page. */
export function catalogueQuery(q: string) {
  return infiniteQueryOptions({
    queryKey: ['/api/benchmarks', null, { q }, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      get('/api/benchmarks', { query: { q, cursor: pageParam, limit: PAGE }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schema<'BenchmarkPage'>) => page.cursor ?? undefined,
  })
}
