import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'
import { lookOf, UNKNOWN } from '../parts/look'

interface Look {
  tone: Tone
  icon?: IconName
  word: string
  meaning: string
}

const LOOKS: Record<string, Look> = {
  passed: {
    tone: 'plain',
    icon: 'check',
    word: 'checked by its author',
    meaning: 'Its author’s check found nothing wrong',
  },
  failed: { tone: 'bad', icon: 'error', word: 'check failed', meaning: 'Its author’s check found problems' },
  outdated: {
    tone: 'warn',
    icon: 'warning',
    word: 'check outdated',
    meaning: 'It was changed after its author’s check',
  },
  unchecked: { tone: 'idle', word: 'not checked', meaning: 'Its author submitted no verdict of mesocosm check' },
}

/** What the author's `mesocosm check` found; the platform does not repeat it, so a pass is no green. */
export function CheckBadge({ state, problems = [] }: { state: string; problems?: readonly string[] }) {
  const look = lookOf(LOOKS, state) ?? { tone: 'plain' as const, word: `check ${state}`, meaning: UNKNOWN }
  return (
    <Badge tone={look.tone} icon={look.icon} title={[look.meaning, ...problems].join('\n')}>
      {look.word}
    </Badge>
  )
}
