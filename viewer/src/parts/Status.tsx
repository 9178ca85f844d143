import type { Schema } from '../api/paths'
import { Badge, type Tone } from './Badge'
import type { IconName } from './Icon'
import { lookOf, UNKNOWN } from './look'

/** States of runs and of episodes. */
export type State = Schema<'RunSummary'>['state'] | Schema<'EpisodeSummary'>['state']

interface Look {
  tone: Tone
  icon?: IconName
  word: string
  meaning: string
}

const LOOKS: Record<State, Look> = {
  pending: { tone: 'idle', icon: 'clock', word: 'pending', meaning: 'has not begun' },
  running: { tone: 'live', icon: 'play', word: 'running', meaning: 'goes on right now' },
  finished: { tone: 'good', icon: 'check', word: 'finished', meaning: 'every planned episode was played' },
  partial: {
    tone: 'warn',
    icon: 'warning',
    word: 'partial',
    meaning: 'too many episodes have no value; it has no rank, and resuming repairs it',
  },
  completed: { tone: 'good', icon: 'check', word: 'completed', meaning: 'went to its end' },
  truncated: { tone: 'warn', icon: 'dash', word: 'truncated', meaning: 'reached the limit of steps' },
  timeout: { tone: 'warn', icon: 'clock', word: 'timeout', meaning: 'ran out of time' },
  failed: { tone: 'bad', icon: 'error', word: 'failed', meaning: 'could not be played to its end' },
  stopped: { tone: 'idle', icon: 'stop', word: 'stopped', meaning: 'was stopped before its end; it can be resumed' },
  interrupted: {
    tone: 'warn',
    icon: 'warning',
    word: 'interrupted',
    meaning: 'its process went away; it can be resumed',
  },
  cancelled: { tone: 'idle', icon: 'close', word: 'cancelled', meaning: 'was called off' },
}

/** The state of a run or an episode: picture and word. */
export function Status({ state, stopping = false }: { state: State; stopping?: boolean }) {
  const look = lookOf(LOOKS, state) ?? { tone: 'plain', word: state, meaning: UNKNOWN }
  if (stopping && state === 'running') {
    return (
      <Badge tone="warn" icon="pause" title="stops as soon as what is being played has ended">
        stopping
      </Badge>
    )
  }
  return (
    <Badge tone={look.tone} icon={look.icon} title={look.meaning}>
      {look.word}
    </Badge>
  )
}
