import { useQuery } from '@tanstack/react-query'
import { get } from '../api/client'
import type { Run } from './page'
import { rivalsKey, type Standing, standing } from './standing'

/** Runs of the same benchmark that are looked at: other versions of its content may be among them. */
const LOOKED_AT = 20

/** How good it is that a run is the best; undefined when it is not, or before that is known. */
export function useStanding(run: Run): Standing | undefined {
  const first = run.high_score?.run_id === run.id
  const { data: scored } = useQuery({
    queryKey: rivalsKey(run),
    queryFn: async ({ signal }) => {
      const query = { benchmark: [run.benchmark], sort: order(run), limit: LOOKED_AT }
      const { items } = await get('/v1/runs', { query, signal })
      return items.filter((one) => one.benchmark_digest === run.benchmark_digest && hasScore(one)).map(({ id }) => id)
    },
    staleTime: 30_000,
    enabled: first,
  })
  return first && scored !== undefined ? standing(run, scored) : undefined
}

function order({ primary }: Run): '-score' | 'score' {
  return (primary?.higher_is_better ?? true) ? '-score' : 'score'
}

function hasScore({ primary }: Run): boolean {
  return primary !== null && primary.value !== null
}
