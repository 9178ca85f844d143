import styles from './Command.module.css'
import { CopyButton } from './CopyButton'

/** A command for the terminal, ready to copy. */
export function Command({ children }: { children: string }) {
  return (
    <span className={styles.command}>
      <code>{children}</code>
      <CopyButton text={children} label="Copy the command" />
    </span>
  )
}
