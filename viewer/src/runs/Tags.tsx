import { clip } from './clip'
import styles from './RunList.module.css'

/** Tags in one line, in full on hover. */
export function Tags({ tags, otherwise = '–' }: { tags: readonly string[]; otherwise?: string }) {
  if (tags.length === 0) return <span className={styles.second}>{otherwise}</span>
  return (
    <span className={styles.tags} data-full={clip(tags.join('\n'), 1_000)}>
      {tags.map((tag) => (
        <bdi key={tag} className={styles.tag}>
          {clip(tag, 60)}
        </bdi>
      ))}
    </span>
  )
}
