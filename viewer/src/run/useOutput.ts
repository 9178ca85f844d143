/** What the programs of a run printed, read piece by piece and followed while more comes. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { get } from '../api/client'
import { documentQuery } from '../api/query'
import { type Output, outputWith } from './output'

const PATH = '/api/runs/{run_id}/output'
const LOOK_AGAIN = 2_000

/** Read the output of a run, and go on reading until it has ended. */
export function useOutput(runId: string) {
  const client = useQueryClient()
  const params = { run_id: runId }
  const { queryKey } = documentQuery(PATH, { params })
  return useQuery<Output>({
    queryKey: [...queryKey, 'all'],
    queryFn: async ({ signal, queryKey: key }) => {
      let output = client.getQueryData<Output>(key)
      for (;;) {
        const page = await get(PATH, { params, query: { after: output?.last ?? 0 }, signal })
        output = outputWith(output, page)
        if (page.items.length === 0 || page.ended) return output
      }
    },
    refetchInterval: ({ state }) => (state.data?.ended ? false : LOOK_AGAIN),
  })
}
