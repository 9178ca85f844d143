import { ContentView } from '../renderers/ContentView'
import { Marked } from '../renderers/Marked'
import styles from './timeline.module.css'

/** An action: a word stands out, anything larger is shown by its shape. */
export function ActionView({ action, highlight = '' }: { action: unknown; highlight?: string }) {
  if (action === null || action === undefined) return <p className={styles.since}>no action</p>
  if (action === '') return <p className={styles.since}>empty action</p>
  if (typeof action === 'number' || (typeof action === 'string' && action.length <= 80 && !action.includes('\n'))) {
    return (
      <p className={styles.action}>
        <Marked text={String(action)} highlight={highlight} />
      </p>
    )
  }
  return <ContentView data={action} type="" highlight={highlight} />
}
