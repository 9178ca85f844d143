import { Badge } from '../parts/Badge'

/** Who may see a run. */
export function VisibilityBadge({ visibility, team }: { visibility: string; team?: string | null }) {
  if (visibility === 'gallery_public')
    return (
      <Badge tone="live" title="Everybody sees it once it has completed">
        public
      </Badge>
    )
  return team ? (
    <Badge title="Its owner and the members of the team see it">team</Badge>
  ) : (
    <Badge title="Only its owner sees it">private</Badge>
  )
}
