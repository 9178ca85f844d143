import { useQuery } from '@tanstack/react-query'
import { Navigate, useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { ApiError } from '../api/error'
import { documentQuery } from '../api/query'
import { PageSkeleton } from '../parts/PageSkeleton'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'

const BenchmarkPage = lazy(async () => ({ default: (await import('../benchmarks/BenchmarkPage')).BenchmarkPage }))

/** A benchmark of a server, for members. Visitors, and members where no run of it is theirs, are shown its domain. */
export function ToDomain() {
  const { benchmarkId } = useParams({ from: '/benchmarks/$benchmarkId' })
  const me = useMe()
  const known = useQuery({
    ...documentQuery('/api/benchmarks/{benchmark_id}', { params: { benchmark_id: benchmarkId } }),
    enabled: isMember(me),
  })
  const missing = known.error instanceof ApiError && known.error.status === 404
  if (me === undefined) return <PageSkeleton />
  if (!isMember(me) || missing) {
    return <Navigate to="/domains/$domainId" params={{ domainId: benchmarkId }} replace />
  }
  return (
    <Suspense fallback={<PageSkeleton />}>
      <BenchmarkPage />
    </Suspense>
  )
}
