/** The configurations that can be scheduled. */
import { useQuery } from '@tanstack/react-query'
import { documentQuery, useDocument } from '../api/query'

/** The valid configurations at the newest synced commit, of a branch if one is given. */
export function useConfigurations(workspaceId: string, branch: string): readonly string[] {
  const params = { workspace: workspaceId }
  const syncs = useDocument('/api/workspaces/{workspace}/syncs', { params, query: { limit: 100 } })
  const newest = syncs.data?.find((one) => one.status === 'success' && (branch === '' || one.branch === branch))
  const detail = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/syncs/{number}', {
      params: { ...params, number: newest?.number ?? 0 },
    }),
    enabled: newest !== undefined,
  })
  return (detail.data?.configurations ?? []).filter((one) => one.valid).map((one) => one.path)
}
