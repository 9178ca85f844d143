import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'

/** How the sending of a message goes. */
export function DeliveryBadge({ message }: { message: Schema<'DeliveryDocument'> }) {
  // While it is being sent the first time there is no answer either.
  const tried = message.status === 'pending' && (message.attempts > 1 || message.answer !== '')
  const looks = { delivered: ['good', 'check'], failed: ['bad', 'error'], pending: ['idle', 'clock'] } as const
  const [tone, icon] = tried ? (['warn', 'warning'] as const) : looks[message.status]
  return (
    <Badge tone={tone} icon={icon}>
      {tried ? 'trying again' : message.status}
    </Badge>
  )
}
