import { useEffect, useState } from 'react'
import { IconButton } from './IconButton'

/** A button that copies a text and says that it did. */
export function CopyButton({
  text,
  label = 'Copy',
  size = 'sm',
}: {
  text: string
  label?: string
  size?: 'sm' | 'md'
}) {
  const [told, setTold] = useState<'copied' | 'refused'>()
  useEffect(() => {
    if (!told) return
    const timer = setTimeout(() => setTold(undefined), 1_500)
    return () => clearTimeout(timer)
  }, [told])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setTold('copied')
    } catch {
      setTold('refused')
    }
  }
  const words = told === 'copied' ? 'Copied' : told === 'refused' ? 'The browser did not allow it' : label
  return <IconButton icon={told === 'copied' ? 'check' : 'copy'} size={size} label={words} onClick={copy} />
}
