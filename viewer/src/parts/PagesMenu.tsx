import { useNavigate } from '@tanstack/react-router'
import type { BarPage } from './barPages'
import { Menu } from './Menu'

/** The pages as a menu, where the bar has no room for them. */
export function PagesMenu({ pages }: { pages: readonly BarPage[] }) {
  const navigate = useNavigate()
  const items = pages.map(({ to, label }) => ({ label, onChoose: () => void navigate({ to }) }))
  return <Menu label="Pages" icon="pages" small items={items} />
}
