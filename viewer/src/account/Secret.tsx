import { CopyButton } from '../parts/CopyButton'
import styles from '../platform/platform.module.css'

/** Something that is shown once. */
export function Secret({ label, secret }: { label: string; secret: string }) {
  return (
    <div className={styles.secret} role="status">
      <strong>{label}</strong>
      <code>{secret}</code>
      <span>
        <CopyButton text={secret} label="Copy it" look="words" /> Keep it now: it is not shown again.
      </span>
    </div>
  )
}
