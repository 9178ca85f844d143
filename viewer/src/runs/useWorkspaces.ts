import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { place } from '../place'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'

const NONE: readonly Schema<'WorkspaceDocument'>[] = []

/** The workspaces that the user is in; none for guests, and where there is no server. */
export function useWorkspaces(): readonly Schema<'WorkspaceDocument'>[] {
  const me = useMe()
  const enabled = place.mode === 'server' && isMember(me)
  return useQuery({ ...documentQuery('/api/workspaces'), enabled }).data ?? NONE
}
