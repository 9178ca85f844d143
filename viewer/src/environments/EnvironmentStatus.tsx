import { BUILD_STATES } from '../api/words'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'
import { lookOf, UNKNOWN } from '../parts/look'
import { building } from './stages'

interface Look {
  tone: Tone
  icon?: IconName
  word?: string
}

const WAITING: Look = { tone: 'idle', icon: 'clock', word: 'queued' }
const BUILDING: Look = { tone: 'live', icon: 'play' }

const LOOKS: Record<string, Look> = {
  pending: WAITING,
  queued: WAITING,
  cloning: { ...BUILDING, word: 'building' },
  ready: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'error' },
}

/** The state of an environment or of one of its versions: an icon and a word; during a build, the step. */
export function EnvironmentStatus({ status, stage = '' }: { status: string; stage?: string }) {
  const look: Look = lookOf(LOOKS, status) ?? (building(status) ? BUILDING : { tone: 'plain' })
  const state = status === 'pending' ? 'queued' : status
  const meaning = lookOf<{ meaning: string }>(BUILD_STATES, state)?.meaning ?? UNKNOWN
  return (
    <Badge tone={look.tone} icon={look.icon} title={meaning}>
      {(look.tone === 'live' && stage) || (look.word ?? status)}
    </Badge>
  )
}
