import { useNavigate } from '@tanstack/react-router'
import { useShortcut } from '../keys/useShortcut'
import type { Place } from './places'

/** The keys that lead to a page. */
export function PageShortcut({ place }: { place: Place }) {
  const navigate = useNavigate()
  useShortcut(place.keys, `Go to ${place.label}`, () => void navigate({ to: place.to }), { group: 'Everywhere' })
  return null
}
