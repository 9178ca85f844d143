import { useState } from 'react'
import { plural } from '../format'
import { TextButton } from '../parts/TextButton'
import { Board } from './Board'
import styles from './fields.module.css'
import { framedGrid, type Grid, gridOf } from './grid'
import { JsonTree } from './JsonTree'
import { Marked } from './Marked'
import { isShort } from './scene'

const SHOWN = 30

interface FieldsViewProps {
  fields: Record<string, unknown>
  /** The actions that are legal; null where nothing says so. */
  legal: readonly string[] | null
  highlight?: string
}

/** The fields beside a board or a picture: short ones on a line, nested ones as a tree, legal actions as words. */
export function FieldsView({ fields, legal, highlight }: FieldsViewProps) {
  const entries = Object.entries(fields).filter(([, value]) => value !== null)
  const small = entries.filter(([, value]) => isShort(value))
  const drawn = entries.flatMap(([name, value]) => boardIn(name, value))
  const large = entries.filter(([name, value]) => !isShort(value) && !drawn.some((board) => board.name === name))
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
      {drawn.map(({ name, title, grid, rest }) => (
        <div key={name} className={styles.board}>
          <p className="muted">
            <Marked text={title.replaceAll('_', ' ')} highlight={highlight} />
          </p>
          <Board grid={grid} />
          {Object.keys(rest).length > 0 && <FieldsView fields={rest} legal={null} highlight={highlight} />}
        </div>
      ))}
      {large.length > 0 && <JsonTree value={Object.fromEntries(large)} highlight={highlight} />}
    </>
  )
}

/** A board that a field is, or holds one level down, with what stands beside it. */
function boardIn(
  name: string,
  value: unknown,
): { name: string; title: string; grid: Grid; rest: Record<string, unknown> }[] {
  if (isShort(value)) return []
  const grid = gridOf(value)
  if (grid !== null) return [{ name, title: name, grid, rest: {} }]
  const framed = framedGrid(value)
  return framed === null ? [] : [{ name, title: `${name}: ${framed.key}`, grid: framed.grid, rest: framed.rest }]
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
