/** Who looks at the page. */
import { useQuery } from '@tanstack/react-query'
import { platformQuery } from '../api/platform'
import type { Me } from './person'

/** Who looks at the page; nothing until that is known. */
export function useMe(): Me | undefined {
  return useQuery({ ...platformQuery('/v1/me'), staleTime: 60_000 }).data
}
