import type { Schema } from '../api/types'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'

type State = Schema<'DatasetVersionItem'>['status']

const LOOKS: Record<State, { meaning: string; tone: Tone; icon?: IconName }> = {
  uploading: { meaning: 'Parts of the file are missing.', tone: 'warn', icon: 'clock' },
  processing: { meaning: 'A worker checks every row.', tone: 'live', icon: 'clock' },
  uploaded: { meaning: 'Every row can be run.', tone: 'good', icon: 'check' },
  error: { meaning: 'Rows cannot be run; the page says why.', tone: 'bad', icon: 'error' },
  cancelled: { meaning: 'The upload was given up.', tone: 'idle', icon: 'stop' },
}

/** The state of a version of a dataset, by the word of the commands and the API. */
export function DatasetBadge({ status }: { status: State }) {
  const { meaning, tone, icon } = LOOKS[status]
  return (
    <Badge tone={tone} icon={icon} title={meaning}>
      {status}
    </Badge>
  )
}
