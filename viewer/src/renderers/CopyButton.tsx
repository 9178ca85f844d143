import { useState } from 'react'
import styles from './json.module.css'

export interface CopyButtonProps {
  text: () => string
  label: string
  /** Within a tree, which is one stop for the keyboard. */
  inTree?: boolean
}

/** A quiet button beside content that copies it. */
export function CopyButton({ text, label, inTree = false }: CopyButtonProps) {
  const [told, setTold] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      setTold('Copied')
    } catch {
      setTold('Copying is not allowed here')
    }
    setTimeout(() => setTold(''), 1_500)
  }
  return (
    <button
      type="button"
      className={styles.quiet}
      tabIndex={inTree ? -1 : undefined}
      onClick={(event) => {
        event.stopPropagation()
        void copy()
      }}
    >
      {told || label}
    </button>
  )
}
