import { useMemo } from 'react'
import { Board } from './Board'
import { blocksOf, boardText, framedGrid, type Grid, gridOf } from './grid'
import { JsonTree } from './JsonTree'
import styles from './layout.module.css'
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
        return <JsonTree key={key} value={part.value} highlight={highlight} />
      })}
    </div>
  )
}

interface Part {
  grid?: Grid
  text?: string
  value?: unknown
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
  return Object.keys(framed.rest).length ? [{ grid: framed.grid }, { value: framed.rest }] : [{ grid: framed.grid }]
}
