import { bytes, count } from '../format'
import { CopyButton } from '../parts/CopyButton'
import { textOf } from './content'
import { JsonValue } from './JsonValue'
import styles from './json.module.css'
import { Marked } from './Marked'
import { pathText, type TreeRow } from './tree'

interface JsonRowProps {
  id: string
  row: TreeRow
  active: boolean
  highlight: string
  onFlip: () => void
  onChoose: () => void
}

/** One row of a JSON tree. */
export function JsonRow({ id, row, active, highlight, onFlip, onChoose }: JsonRowProps) {
  const branch = row.kind !== 'value'
  const choose = () => {
    onChoose()
    if (branch) onFlip()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree that holds the row has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names its active row
    <div
      id={id}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={branch ? row.open : undefined}
      aria-selected={active}
      className={active ? `${styles.row} ${styles.active}` : styles.row}
      style={{ paddingInlineStart: `${row.depth * 14 + 4}px` }}
      onClick={choose}
    >
      <span className={styles.twist} aria-hidden="true">
        {branch ? (row.open ? '▾' : '▸') : ''}
      </span>
      {row.label !== '' && (
        <span className={row.kind === 'group' ? styles.range : styles.key}>
          <Marked text={row.label} highlight={highlight} />
          {row.kind !== 'group' && <span className={styles.colon}>:</span>}
        </span>
      )}
      {branch ? (
        <span className={styles.size}>{sizeText(row)}</span>
      ) : (
        <JsonValue value={row.value} highlight={highlight} />
      )}
      {row.kind !== 'group' && (
        <span className={styles.tools}>
          {row.path.length > 0 && <CopyButton look="words" inTree text={() => pathText(row.path)} label="Copy path" />}
          <CopyButton look="words" inTree text={() => textOf(row.value)} label="Copy value" />
        </span>
      )}
    </div>
  )
}

function sizeText(row: TreeRow): string {
  if (row.kind === 'list') return row.size ? `[${count(row.size)}]` : '[ ]'
  if (row.kind === 'object') return row.size ? `{${count(row.size)}}` : '{ }'
  return row.kind === 'more' ? bytes(row.size) : ''
}
