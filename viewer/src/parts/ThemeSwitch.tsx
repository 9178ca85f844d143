import { useShortcutList } from '../keys/useShortcut'
import { chooseMode, type Mode, useMode } from '../theme/mode'
import { IconButton } from './IconButton'

const NEXT: Record<Mode, Mode> = { system: 'light', light: 'dark', dark: 'system' }
const WORDS: Record<Mode, string> = { system: 'system', light: 'light', dark: 'dark' }

const ACTIONS = (['light', 'dark', 'system'] as const).map((mode) => ({
  key: '',
  label: `Appearance: ${WORDS[mode]}`,
  action: () => chooseMode(mode),
}))

/** A button that goes through the appearances: system, light, dark. */
export function ThemeSwitch() {
  const mode = useMode()
  useShortcutList(ACTIONS, { group: 'Everywhere' })
  return (
    <IconButton
      icon={mode}
      label={`Appearance: ${WORDS[mode]}. Change to ${WORDS[NEXT[mode]]}`}
      onClick={() => chooseMode(NEXT[mode])}
    />
  )
}
