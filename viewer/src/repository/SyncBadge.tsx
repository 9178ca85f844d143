import type { Schema } from '../api/types'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'

type Sync = Schema<'SyncDocument'>

const LOOKS: Record<Sync['status'], { word: string; meaning: string; tone: Tone; icon: IconName }> = {
  pending: { word: 'waiting', meaning: 'A worker will fetch the commit.', tone: 'idle', icon: 'clock' },
  syncing: {
    word: 'syncing',
    meaning: 'A worker fetches the commit and checks what is in it.',
    tone: 'live',
    icon: 'clock',
  },
  success: { word: 'synced', meaning: 'Everything that was found can be run.', tone: 'good', icon: 'check' },
  failed: { word: 'failed', meaning: 'Nothing of the commit was kept.', tone: 'bad', icon: 'error' },
}
const IN_PART = {
  word: 'in part',
  meaning: 'The commit is kept; some of its files need mending.',
  tone: 'warn',
  icon: 'warning',
} as const

/** How a sync went. */
export function SyncBadge({ sync }: { sync: Pick<Sync, 'status' | 'faults'> }) {
  const { word, meaning, tone, icon } = sync.status === 'success' && sync.faults > 0 ? IN_PART : LOOKS[sync.status]
  return (
    <Badge tone={tone} icon={icon} title={meaning}>
      {word}
    </Badge>
  )
}
