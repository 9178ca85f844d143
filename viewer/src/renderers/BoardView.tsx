import { useMemo } from 'react'
import { Board } from './Board'
import { FieldsView } from './FieldsView'
import { blocksOf, boardText, framedGrid, type Grid, gridOf } from './grid'
import styles from './layout.module.css'
import { legalOf } from './scene'
import { TextView } from './TextView'

interface BoardViewProps {
  data: unknown
  /** The content one step before. */
  before?: unknown
  large?: boolean
  highlight?: string
  /** Whether the content is said to be a board. */
  named?: boolean
}

/** Content with one or more boards in it: a grid, an object that holds one, or text with maps. */
export function BoardView({ data, before, large, highlight, named = false }: BoardViewProps) {
  const parts = useMemo(() => partsOf(data, named), [data, named])
  const old = useMemo(() => partsOf(before, named).flatMap((part) => (part.grid ? [part.grid] : [])), [before, named])
  let boards = 0
  return (
    <div className={styles.stack}>
      {parts.map((part, index) => {
        const key = `${index}`
        if (part.grid) return <Board key={key} grid={part.grid} before={old[boards++]} large={large} />
        if (part.text !== undefined) return <TextView key={key} text={part.text} highlight={highlight} />
        return part.rest && <Rest key={key} rest={part.rest} highlight={highlight} />
      })}
    </div>
  )
}

interface Part {
  grid?: Grid
  text?: string
  rest?: Record<string, unknown>
}

/** What an object says beside its board. */
function Rest({ rest, highlight }: { rest: Record<string, unknown>; highlight?: string }) {
  const legal = legalOf(rest.legal_actions)
  const { legal_actions: _legal, ...others } = rest
  return <FieldsView fields={legal === null ? rest : others} legal={legal} highlight={highlight} />
}

function partsOf(data: unknown, named: boolean): Part[] {
  if (typeof data === 'string') {
    return ((named ? boardText(data) : blocksOf(data)) ?? []).map((block) =>
      block.kind === 'map' ? { grid: block.grid } : { text: block.text },
    )
  }
  const grid = gridOf(data, named)
  if (grid) return [{ grid }]
  const framed = framedGrid(data, named)
  if (!framed) return []
  return Object.keys(framed.rest).length ? [{ grid: framed.grid }, { rest: framed.rest }] : [{ grid: framed.grid }]
}
