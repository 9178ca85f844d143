import { JsonTree } from '../renderers/JsonTree'
import { Marked } from '../renderers/Marked'
import { brief } from '../renderers/marks'
import styles from './timeline.module.css'

const MOST = 10

/** A few named values on a line; larger ones as a tree. */
export function FieldList({ fields, highlight }: { fields: Record<string, unknown>; highlight: string }) {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const small = entries.filter(([, value]) => isSmall(value)).slice(0, MOST)
  const large = entries.filter((entry) => !small.some(([name]) => name === entry[0]))
  return (
    <div className={styles.fields}>
      {small.length > 0 && (
        <dl className={styles.pairs}>
          {small.map(([name, value]) => (
            <div key={name} className={styles.pair}>
              <dt>
                <Marked text={name.replaceAll('_', ' ')} highlight={highlight} />
              </dt>
              <dd>
                <Marked
                  text={brief(typeof value === 'string' ? value : JSON.stringify(value), 120)}
                  highlight={highlight}
                />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {large.length > 0 && <JsonTree value={Object.fromEntries(large)} highlight={highlight} />}
    </div>
  )
}

function isSmall(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= 120
  if (typeof value !== 'object') return true
  return value !== null && Object.keys(value).length === 0
}
