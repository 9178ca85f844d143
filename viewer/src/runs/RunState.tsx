import { count, duration } from '../format'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'
import { clip } from './clip'
import type { Run } from './page'
import { countWords, secondsLeft } from './progress'

/** The state of a run where it says something: while it goes on, and where it ended oddly. Nothing of one that is done. */
export function RunState({ run }: { run: Run }) {
  const odd = stateWords(run)
  if (odd === undefined) return null
  return (
    <Badge tone={odd.tone} icon={odd.icon} title={[countWords(run), clip(run.error, 1_000)].filter(Boolean).join('\n')}>
      {odd.words}
    </Badge>
  )
}

/** What the state of a run says, and how; undefined for one that is done as planned. */
export function stateWords(run: Run): { words: string; tone: Tone; icon?: IconName } | undefined {
  const { state, counts } = run
  if (state === 'pending') return { words: 'waiting', tone: 'idle', icon: 'clock' }
  if (state === 'running') {
    if (run.stop_requested) return { words: 'stopping', tone: 'warn', icon: 'pause' }
    const left = secondsLeft(run)
    return { words: left === null ? 'running' : `${duration(left)} left`, tone: 'live', icon: 'play' }
  }
  if (state === 'interrupted') return { words: 'interrupted', tone: 'warn', icon: 'warning' }
  const halted = counts.missing > 0
  if (counts.errors > 0 && (state === 'failed' || (state === 'stopped' && run.error !== ''))) {
    return { words: `stopped: ${count(counts.errors)} ${counts.errors === 1 ? 'error' : 'errors'}`, tone: 'bad' }
  }
  if (state === 'failed') return { words: 'failed', tone: 'bad' }
  if (state === 'stopped') return { words: 'stopped', tone: 'idle', icon: 'stop' }
  return halted ? { words: `${count(counts.missing)} missing`, tone: 'warn' } : undefined
}
