import type { Doc } from '../api/platform'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'
import { lookOf, UNKNOWN } from '../parts/look'

type Word = NonNullable<Doc<'Run'>['status']> | 'stopped'

interface Look {
  tone: Tone
  icon?: IconName
  meaning: string
}

const LOOKS: Record<Word, Look> = {
  pending: { tone: 'idle', icon: 'clock', meaning: 'waits for a worker' },
  running: { tone: 'live', icon: 'play', meaning: 'goes on right now' },
  completed: { tone: 'good', icon: 'check', meaning: 'every planned episode was played' },
  partial: {
    tone: 'warn',
    icon: 'warning',
    meaning: 'too many episodes have no value; it has no rank, and resuming repairs it',
  },
  stopped: {
    tone: 'idle',
    icon: 'stop',
    meaning: 'was stopped before its end; it can be resumed',
  },
  failed: { tone: 'bad', icon: 'error', meaning: 'could not be played to its end' },
  cancelled: { tone: 'idle', icon: 'close', meaning: 'was called off' },
}

/** The state of a run in the words of the platform: picture and word. */
export function RunStatus({ status }: { status: Word }) {
  const look = lookOf(LOOKS, status) ?? { tone: 'plain', meaning: UNKNOWN }
  return (
    <Badge tone={look.tone} icon={look.icon} title={look.meaning}>
      {status}
    </Badge>
  )
}
