/** The catalogue: every benchmark that runs were made of. */

import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { get } from '../api/client'
import type { Schema } from '../api/paths'
import { Empty } from '../parts/Empty'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { SearchField } from '../parts/SearchField'
import { BenchmarkList } from './BenchmarkList'
import styles from './BenchmarkList.module.css'

const PAGE = 100

export function BenchmarksPage() {
  const { q } = useSearch({ from: '/benchmarks' })
  const navigate = useNavigate({ from: '/benchmarks' })
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useCatalogue(q ?? '')
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data])
  const none = data !== undefined && items.length === 0
  return (
    <Page title="Benchmarks" note="What runs were made of, with the best result of each.">
      {(q || !none) && (
        <div className={styles.toolbar}>
          <SearchField
            page
            label="Search benchmarks"
            value={q ?? ''}
            onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
          />
        </div>
      )}
      {error !== null && data === undefined && (
        <Failure error={error} title="The benchmarks could not be read" onRetry={() => void refetch()} />
      )}
      {none && q && <Empty title="No benchmark fits these words" />}
      {none && !q && (
        <Empty title="No benchmark yet" command="mesocosm demo">
          A benchmark appears here with its first run.
        </Empty>
      )}
      {!none && (error === null || data !== undefined) && (
        <BenchmarkList
          items={items}
          waiting={data === undefined}
          onMore={() => {
            if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
          }}
        />
      )}
    </Page>
  )
}

function useCatalogue(q: string) {
  return useInfiniteQuery({
    queryKey: ['/v1/benchmarks', null, { q }, 'pages'],
    queryFn: ({ pageParam, signal }) => get('/v1/benchmarks', { query: { q, cursor: pageParam, limit: PAGE }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schema<'BenchmarkPage'>) => page.cursor ?? undefined,
    placeholderData: keepPreviousData,
  })
}
