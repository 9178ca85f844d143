/** The catalogue: every benchmark that can be run here, and every one that runs were made of. */

import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { source } from '../api/source'
import { Empty } from '../parts/Empty'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { SearchField } from '../parts/SearchField'
import { BenchmarkList } from './BenchmarkList'
import styles from './BenchmarkList.module.css'
import { CatalogueNav } from './CatalogueNav'
import { catalogueQuery } from './catalogueQuery'
import { LOOK_AGAIN_MS, looking } from './coverage'
import { FrameworkBenchmarks } from './FrameworkBenchmarks'

export function BenchmarksPage() {
  const { q } = useSearch({ from: '/benchmarks' })
  const navigate = useNavigate({ from: '/benchmarks' })
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    ...catalogueQuery(q ?? ''),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ items }) => items.some(looking)) ? LOOK_AGAIN_MS : false,
  })
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data])
  const none = data !== undefined && items.length === 0
  return (
    <Page
      title="Benchmarks"
      note={
        source.live
          ? 'All benchmarks with their coverage and best result.'
          : 'All benchmarks in this site with their best result.'
      }
    >
      <CatalogueNav />
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
        <Failure error={error} title="The benchmarks could not be loaded" onRetry={() => void refetch()} />
      )}
      {none && q && <Empty title="No benchmark matches your search" />}
      {none && !q && (
        <Empty title="No benchmarks yet" command="mesocosm demo">
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
      {source.live && <FrameworkBenchmarks q={q ?? ''} />}
    </Page>
  )
}
