import { useNavigate } from '@tanstack/react-router'
import { Menu } from '../parts/Menu'
import type { Place } from './places'

/** The pages as a menu, where the bar has no room for them. */
export function PagesMenu({ places }: { places: readonly Place[] }) {
  const navigate = useNavigate()
  const items = places.map(({ to, label }) => ({ label, onChoose: () => void navigate({ to }) }))
  return <Menu label="Pages" icon="pages" small items={items} />
}
