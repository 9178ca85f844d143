import { useId } from 'react'
import { bytes } from '../format'
import styles from './UploadState.module.css'
import type { UploadProgress } from './upload'

/** How far an upload is. */
export function UploadState({ progress }: { progress: UploadProgress }) {
  const { stage, done, total, kept } = progress
  const id = useId()
  return (
    <div className={styles.state}>
      <progress className={styles.bar} max={total} value={done} aria-labelledby={id} />
      <span id={id} className="muted">
        {stage === 'reading' ? 'Reading' : 'Sending'} {bytes(done)} of {bytes(total)}
        {kept > 0 && `; ${bytes(kept)} were there already`}
      </span>
    </div>
  )
}
