import { Navigate } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { PageSkeleton } from '../parts/PageSkeleton'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'

const BenchmarksPage = lazy(async () => ({ default: (await import('../benchmarks/BenchmarksPage')).BenchmarksPage }))

/** The benchmarks of a server, for members; visitors are shown the domains, which are public. */
export function ToDomains() {
  const me = useMe()
  if (me === undefined) return <PageSkeleton />
  if (!isMember(me)) return <Navigate to="/domains" replace />
  return (
    <Suspense fallback={<PageSkeleton />}>
      <BenchmarksPage />
    </Suspense>
  )
}
