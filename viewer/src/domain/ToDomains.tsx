import { Navigate } from '@tanstack/react-router'

/** The list of benchmarks is that of domains on a server. */
export function ToDomains() {
  return <Navigate to="/domains" replace />
}
