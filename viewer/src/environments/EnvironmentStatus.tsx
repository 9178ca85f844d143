import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'

const LOOKS: Record<string, { tone: Tone; icon: IconName; word: string; meaning: string }> = {
  pending: { tone: 'idle', icon: 'clock', word: 'waiting', meaning: 'waits to be built' },
  queued: { tone: 'idle', icon: 'clock', word: 'waiting', meaning: 'waits to be built' },
  cloning: { tone: 'live', icon: 'play', word: 'building', meaning: 'is being built' },
  ready: { tone: 'good', icon: 'check', word: 'ready', meaning: 'can be run' },
  failed: { tone: 'bad', icon: 'error', word: 'failed', meaning: 'could not be built' },
}

/** Where a submission stands: picture and word; while it is built, the step. */
export function EnvironmentStatus({ status, stage = '' }: { status: string; stage?: string }) {
  const look = LOOKS[status] ?? {
    tone: 'live' as const,
    icon: 'play' as const,
    word: status,
    meaning: 'is being built',
  }
  const word = look.tone === 'live' && stage ? stage : look.word
  return (
    <Badge tone={look.tone} icon={look.icon} title={look.meaning}>
      {word}
    </Badge>
  )
}
