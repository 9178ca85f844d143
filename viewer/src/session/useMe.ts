/** Who looks at the page. */

import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import { place } from '../place'
import type { Me } from './person'

/** Who looks at the page; nothing until that is known, and where there is no server. */
export function useMe(): Me | undefined {
  return useQuery({ ...documentQuery('/api/me'), staleTime: 60_000, enabled: place.mode === 'server' }).data
}
