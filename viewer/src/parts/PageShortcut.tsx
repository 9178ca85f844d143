import { useNavigate } from '@tanstack/react-router'
import { useShortcut } from '../keys/useShortcut'
import type { BarPage } from './barPages'

/** The shortcut of a page. */
export function PageShortcut({ page }: { page: BarPage }) {
  const navigate = useNavigate()
  useShortcut(page.keys, `Go to ${page.label}`, () => void navigate({ to: page.to }), { group: 'Everywhere' })
  return null
}
