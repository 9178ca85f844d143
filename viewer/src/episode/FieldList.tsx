import { ContentView } from '../renderers/ContentView'
import { gridOf } from '../renderers/grid'
import { JsonTree } from '../renderers/JsonTree'
import { Marked } from '../renderers/Marked'
import { FieldValue } from './FieldValue'
import styles from './timeline.module.css'

const MOST = 12

/** Names of lengths of time. */
const SECONDS = /(?:^|_)seconds$|(?:duration|latency|elapsed|wait|time|timeout)_s$/

interface FieldListProps {
  fields: Record<string, unknown>
  highlight: string
}

/** A few named values on a line; small objects on a line of their own, larger ones as a tree. */
export function FieldList({ fields, highlight }: FieldListProps) {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const small = entries.filter(([, value]) => isSmall(value)).slice(0, MOST)
  const large = entries.filter(([name]) => !small.some(([known]) => known === name))
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
                <FieldValue value={value} highlight={highlight} seconds={SECONDS.test(name)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {large.map(([name, value]) => (
        <div key={name} className={styles.group}>
          <p className={styles.groupName}>
            <Marked text={name.replaceAll('_', ' ')} highlight={highlight} />
          </p>
          {gridOf(value) ? (
            <ContentView data={value} type="" />
          ) : isFlat(value) ? (
            <FieldList fields={value} highlight={highlight} />
          ) : (
            <JsonTree value={value} highlight={highlight} label={name} />
          )}
        </div>
      ))}
    </div>
  )
}

function isSmall(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= 120
  if (typeof value !== 'object') return true
  if (Array.isArray(value)) return isLine(value)
  return value !== null && Object.keys(value).length === 0
}

/** Whether a list can be read on a line. */
function isLine(list: readonly unknown[]): boolean {
  return list.every((one) => typeof one !== 'object') && JSON.stringify(list).length <= 80
}

function isFlat(value: unknown): value is Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false
  const values = Object.values(value)
  return values.length <= MOST && values.every((inner) => inner === null || isSmall(inner))
}
