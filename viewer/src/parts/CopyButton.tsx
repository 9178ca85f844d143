import { IconButton } from './IconButton'
import { TextButton } from './TextButton'
import { useCopy } from './useCopy'

/** What is copied, and how the button looks. */
interface CopyButtonProps {
  /** The text; a function where it takes long to make. */
  text: string | (() => string)
  label?: string
  look?: 'icon' | 'words'
  /** Within a tree, which is one stop for the keyboard. */
  inTree?: boolean
}

/** A button that copies a text and says that it did. */
export function CopyButton({ text, label = 'Copy', look = 'icon', inTree = false }: CopyButtonProps) {
  const [told, copy] = useCopy()
  const words = told === 'copied' ? 'Copied' : told === 'refused' ? 'The browser denied access to the clipboard' : label
  const press = () => copy(typeof text === 'string' ? text : text())
  if (look === 'icon') {
    return <IconButton icon={told === 'copied' ? 'check' : 'copy'} size="sm" label={words} onClick={press} />
  }
  return (
    <TextButton
      size="xs"
      tabIndex={inTree ? -1 : undefined}
      onClick={(event) => {
        event.stopPropagation()
        press()
      }}
    >
      {words}
    </TextButton>
  )
}
