import { useNavigate } from '@tanstack/react-router'
import { Menu } from '../parts/Menu'
import type { BarPage } from './barPages'

/** The pages as a menu, where the bar has no room for them. */
export function PagesMenu({ pages }: { pages: readonly BarPage[] }) {
  const navigate = useNavigate()
  const items = pages.map(({ to, label }) => ({ label, onChoose: () => void navigate({ to }) }))
  return <Menu label="Pages" icon="pages" small items={items} />
}
