import { CopyButton } from '../parts/CopyButton'
import styles from '../parts/panels.module.css'

/** Something that is shown once. */
export function Secret({ label, secret }: { label: string; secret: string }) {
  return (
    <div className={styles.secret} role="status">
      <strong>{label}</strong>
      <code>{secret}</code>
      <span>
        <CopyButton text={secret} label="Copy" look="words" /> Copy it now. You will not be able to see it again.
      </span>
    </div>
  )
}
