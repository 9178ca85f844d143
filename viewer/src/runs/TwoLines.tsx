import styles from './RunList.module.css'

/** A word, and below it in grey a second one unless it says the same. */
export function TwoLines({ first, second = '', title }: { first: string; second?: string; title?: string }) {
  return (
    <span className={styles.lines} title={title ?? first}>
      <bdi className={styles.clip}>{first || '–'}</bdi>
      {second !== '' && second !== first && <bdi className={styles.second}>{second}</bdi>}
    </span>
  )
}
