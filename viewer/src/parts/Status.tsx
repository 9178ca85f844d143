import { EPISODE_STATES, RUN_STATES } from '../api/words'
import { Badge, type Tone } from './Badge'
import type { IconName } from './Icon'
import { lookOf, UNKNOWN } from './look'

/** States of runs and of episodes. */
export type State = keyof typeof RUN_STATES | keyof typeof EPISODE_STATES

interface Look {
  tone: Tone
  icon?: IconName
}

const LOOKS: Record<State, Look> = {
  pending: { tone: 'idle', icon: 'clock' },
  running: { tone: 'live', icon: 'play' },
  finished: { tone: 'good', icon: 'check' },
  completed: { tone: 'good', icon: 'check' },
  partial: { tone: 'warn', icon: 'warning' },
  truncated: { tone: 'warn', icon: 'dash' },
  timeout: { tone: 'warn', icon: 'clock' },
  failed: { tone: 'bad', icon: 'error' },
  stopped: { tone: 'idle', icon: 'stop' },
  interrupted: { tone: 'warn', icon: 'warning' },
  cancelled: { tone: 'idle', icon: 'close' },
}

/** What a state belongs to, and the state. A run that was asked to stop is `stopping`. */
interface StatusProps {
  of?: 'run' | 'episode'
  state: State
  stopping?: boolean
}

/** The state of a run or an episode: an icon and a word. */
export function Status({ of = 'run', state, stopping = false }: StatusProps) {
  if (stopping && state === 'running') {
    return (
      <Badge tone="warn" icon="pause" title="Stops after the episodes in progress">
        stopping
      </Badge>
    )
  }
  const look = lookOf(LOOKS, state) ?? { tone: 'plain' }
  const meaning = lookOf<string>(of === 'run' ? RUN_STATES : EPISODE_STATES, state) ?? UNKNOWN
  return (
    <Badge tone={look.tone} icon={look.icon} title={meaning}>
      {state}
    </Badge>
  )
}
