import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'
import { lookOf, UNKNOWN } from '../parts/look'
import { building } from './stages'

interface Look {
  tone: Tone
  icon?: IconName
  word: string
  meaning: string
}

const BUILDING: Look = { tone: 'live', icon: 'play', word: 'building', meaning: 'is being built' }

const LOOKS: Record<string, Look> = {
  pending: { tone: 'idle', icon: 'clock', word: 'waiting', meaning: 'waits to be built' },
  queued: { tone: 'idle', icon: 'clock', word: 'waiting', meaning: 'waits to be built' },
  cloning: BUILDING,
  ready: { tone: 'good', icon: 'check', word: 'ready', meaning: 'can be run' },
  failed: { tone: 'bad', icon: 'error', word: 'failed', meaning: 'could not be built' },
}

/** Where a submission stands: picture and word; while it is built, the step. */
export function EnvironmentStatus({ status, stage = '' }: { status: string; stage?: string }) {
  const look = lookOf(LOOKS, status) ?? (building(status) ? { ...BUILDING, word: status } : unknown(status))
  const word = look.tone === 'live' && stage ? stage : look.word
  return (
    <Badge tone={look.tone} icon={look.icon} title={look.meaning}>
      {word}
    </Badge>
  )
}

function unknown(word: string): Look {
  return { tone: 'plain', word, meaning: UNKNOWN }
}
