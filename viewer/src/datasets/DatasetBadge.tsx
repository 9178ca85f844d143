import type { Schema } from '../api/types'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'

type State = Schema<'DatasetVersionItem'>['status']

const LOOKS: Record<State, { word: string; meaning: string; tone: Tone; icon?: IconName }> = {
  uploading: { word: 'incomplete', meaning: 'Parts of the file are missing.', tone: 'warn', icon: 'clock' },
  processing: { word: 'checking', meaning: 'A worker checks every row.', tone: 'live', icon: 'clock' },
  uploaded: { word: 'ready', meaning: 'Every row can be run.', tone: 'good', icon: 'check' },
  error: { word: 'faulty', meaning: 'Rows cannot be run; the page says why.', tone: 'bad', icon: 'error' },
  cancelled: { word: 'cancelled', meaning: 'The upload was given up.', tone: 'idle', icon: 'stop' },
}

/** The state of a version of a dataset. */
export function DatasetBadge({ status }: { status: State }) {
  const { word, meaning, tone, icon } = LOOKS[status]
  return (
    <Badge tone={tone} icon={icon} title={meaning}>
      {word}
    </Badge>
  )
}
