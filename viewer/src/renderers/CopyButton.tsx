import { useState } from 'react'
import styles from './json.module.css'

export interface CopyButtonProps {
  text: () => string
  label: string
}

/** A quiet button beside content that copies it. */
export function CopyButton({ text, label }: CopyButtonProps) {
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
      tabIndex={-1}
      onClick={(event) => {
        event.stopPropagation()
        void copy()
      }}
    >
      {told || label}
    </button>
  )
}
