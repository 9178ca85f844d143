import { Prose } from '../renderers/Prose'
import { TextView } from '../renderers/TextView'
import styles from './timeline.module.css'

/** What was thought before something was done. */
export function Reasoning({ text, highlight }: { text: string; highlight: string }) {
  return (
    <div className={styles.reasoning}>
      <span className={styles.reasoningLabel}>Reasoning</span>
      {text.length < 1_500 ? (
        <Prose text={text} highlight={highlight} lines={8} />
      ) : (
        <TextView text={text} highlight={highlight} lines={8} />
      )}
    </div>
  )
}
