import { useConnection } from '../api/connection'
import styles from './ConnectionState.module.css'
import { Icon } from './Icon'

/** Whether the server is there: silent while all is well, a word while live or lost. */
export function ConnectionState() {
  const connection = useConnection()
  return (
    <span role="status" className={styles.state} data-state={connection}>
      {connection === 'live' && (
        <>
          <span className={styles.dot} aria-hidden="true" />
          <span>Live</span>
        </>
      )}
      {connection === 'lost' && (
        <>
          <Icon name="lost" />
          <span>No connection</span>
        </>
      )}
    </span>
  )
}
