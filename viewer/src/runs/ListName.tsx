import { clip } from './clip'
import styles from './ListName.module.css'
import { listName, type Named } from './runName'

/**
 * What a run is called in a list: its name or, without one, benchmark, model and what sets it apart. Where there is no room
 * for all of a name, its end stays: there runs of one name differ.
 */
export function ListName({ run }: { run: Named }) {
  const { title } = run
  if (run.name.trim() === '' && title !== undefined) {
    return (
      <bdi>
        <span className={styles.quiet}>{clip(title.benchmark)} · </span>
        <bdi className={styles.model}>{clip(title.model)}</bdi>
        {title.differs !== '' && <span className={styles.quiet}> · {clip(title.differs)}</span>}
      </bdi>
    )
  }
  const name = listName(run)
  const end = name.lastIndexOf('…')
  if (end <= 0 || end === name.length - 1) return <bdi>{name}</bdi>
  return (
    <bdi className={styles.name}>
      <span>{name.slice(0, end)}</span>
      <span>{name.slice(end)}</span>
    </bdi>
  )
}
