import { useState } from 'react'
import { plural } from '../format'
import { TextButton } from '../parts/TextButton'
import styles from './fields.module.css'
import { JsonTree } from './JsonTree'
import { Marked } from './Marked'
import { isObject } from './talk'

const SHOWN = 30
const LONGEST = 120

interface FieldsViewProps {
  fields: Record<string, unknown>
  /** The actions that are legal; null where nothing says so. */
  legal: readonly string[] | null
  highlight?: string
}

/** The fields beside a board or a picture: short ones on a line, nested ones as a tree, legal actions as words. */
export function FieldsView({ fields, legal, highlight }: FieldsViewProps) {
  const entries = Object.entries(fields).filter(([, value]) => value !== null)
  const small = entries.filter(([, value]) => isSmall(value))
  const large = entries.filter(([, value]) => !isSmall(value))
  return (
    <>
      {small.length > 0 && (
        <dl className={styles.pairs}>
          {small.map(([name, value]) => (
            <div key={name}>
              <dt>
                <Marked text={name.replaceAll('_', ' ')} highlight={highlight} />
              </dt>
              <dd>
                <Marked text={typeof value === 'string' ? value : JSON.stringify(value)} highlight={highlight} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {legal !== null && <Legal actions={legal} highlight={highlight} />}
      {large.length > 0 && <JsonTree value={Object.fromEntries(large)} highlight={highlight} />}
    </>
  )
}

function Legal({ actions, highlight }: { actions: readonly string[]; highlight?: string }) {
  const [all, setAll] = useState(false)
  const shown = all ? actions : actions.slice(0, SHOWN)
  return (
    <div className={styles.legal}>
      <p>{actions.length === 0 ? 'no legal action' : plural(actions.length, 'legal action')}</p>
      <ul aria-label="Legal actions">
        {shown.map((action) => (
          <li key={action}>
            <code>
              <Marked text={action} highlight={highlight} />
            </code>
          </li>
        ))}
      </ul>
      {actions.length > SHOWN && (
        <TextButton onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Fewer' : `${actions.length - SHOWN} more`}
        </TextButton>
      )}
    </div>
  )
}

function isSmall(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= LONGEST && !value.includes('\n')
  if (Array.isArray(value)) return value.every((one) => typeof one !== 'object') && String(value).length <= LONGEST
  return !isObject(value)
}
