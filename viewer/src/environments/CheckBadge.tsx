import { CHECKS } from '../api/words'
import { Badge, type Tone } from '../parts/Badge'
import type { IconName } from '../parts/Icon'
import { lookOf, UNKNOWN } from '../parts/look'

// The server does not repeat the author's check, so a passed one is not green.
const LOOKS: Record<keyof typeof CHECKS, { tone: Tone; icon?: IconName }> = {
  passed: { tone: 'plain', icon: 'check' },
  failed: { tone: 'bad', icon: 'error' },
  outdated: { tone: 'warn', icon: 'warning' },
  unchecked: { tone: 'idle' },
}

/** The result of the author's `mesocosm check`. */
export function CheckBadge({ state, problems = [] }: { state: string; problems?: readonly string[] }) {
  const words = lookOf<{ name: string; meaning: string }>(CHECKS, state)
  const look = lookOf<{ tone: Tone; icon?: IconName }>(LOOKS, state) ?? { tone: 'plain' }
  return (
    <Badge tone={look.tone} icon={look.icon} title={[words?.meaning ?? UNKNOWN, ...problems].join('\n')}>
      {words?.name ?? `check ${state}`}
    </Badge>
  )
}
