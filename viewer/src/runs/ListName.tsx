import styles from './ListName.module.css'
import type { Run } from './page'
import { listName } from './runName'

/** What a run is called in a list. Where there is no room for all of it, its end stays: there runs of one name differ. */
export function ListName({ run }: { run: Pick<Run, 'id' | 'name'> }) {
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
