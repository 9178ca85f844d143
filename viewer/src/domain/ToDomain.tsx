import { Navigate, useParams } from '@tanstack/react-router'

/** What is played on a server are domains: where the record's pages lead to a benchmark, its domain is shown. */
export function ToDomain() {
  const { benchmarkId } = useParams({ from: '/benchmarks/$benchmarkId' })
  return <Navigate to="/domains/$domainId" params={{ domainId: benchmarkId }} replace />
}
