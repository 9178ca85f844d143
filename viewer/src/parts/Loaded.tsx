import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failure } from './Failure'
import { Skeleton } from './Skeleton'

/** What is being read, and how it is shown. */
interface LoadedProps<Data> {
  query: UseQueryResult<Data>
  /** "The teams could not be read". */
  title: string
  /** Height of what stands there until it has come. */
  height?: string
  children: (data: Data) => ReactNode
}

/** Something that is read from the server: its outline, then itself, or why it could not be read. */
export function Loaded<Data>({ query, title, height = '12rem', children }: LoadedProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <Failure error={query.error} title={title} onRetry={() => void query.refetch()} />
  return <Skeleton height={height} />
}
