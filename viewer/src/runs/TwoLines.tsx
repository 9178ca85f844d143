import { clip } from './clip'
import styles from './RunList.module.css'

/** A word, and below it in grey a second one; alone the first one takes both lines. */
export function TwoLines({ first, second = '', title }: { first: string; second?: string; title?: string }) {
  return (
    <span className={styles.lines} data-full={clip(title ?? first, 1_000)}>
      <bdi className={second === '' ? styles.both : styles.clip}>{clip(first) || '–'}</bdi>
      {second !== '' && <bdi className={styles.second}>{clip(second)}</bdi>}
    </span>
  )
}
