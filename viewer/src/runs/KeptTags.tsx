import { clip } from './clip'
import styles from './Dialogs.module.css'

/** Tags of several runs. */
interface KeptTagsProps {
  /** Tags that all of the runs have, and those that only some of them have. */
  all: readonly string[]
  some: readonly string[]
  removed: readonly string[]
  onToggle: (tag: string) => void
}

/** Which of the tags that are there stay. */
export function KeptTags({ all, some, removed, onToggle }: KeptTagsProps) {
  if (all.length + some.length === 0) return null
  return (
    <fieldset className={styles.kept}>
      <legend>Keep</legend>
      {[...all, ...some].map((tag) => (
        <label key={tag}>
          <input type="checkbox" checked={!removed.includes(tag)} onChange={() => onToggle(tag)} />
          <bdi>{clip(tag, 60)}</bdi>
          {some.includes(tag) && <span className="muted">on some runs</span>}
        </label>
      ))}
    </fieldset>
  )
}
