import { Badge } from '../parts/Badge'

/** Who may see a run. */
export function VisibilityBadge({
  visibility,
  team,
  workspace,
}: {
  visibility: string
  team?: string | null
  workspace?: string | null
}) {
  if (workspace) return <Badge title="Visible to the members of the workspace">shared</Badge>
  if (visibility === 'gallery_public')
    return (
      <Badge tone="live" title="Visible to everyone once it has completed">
        public
      </Badge>
    )
  return team ? (
    <Badge title="Visible to its owner and the members of the team">team</Badge>
  ) : (
    <Badge title="Visible only to its owner">private</Badge>
  )
}
