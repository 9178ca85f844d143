import { useMemo } from 'react'
import styles from './board.module.css'
import { changes, type Grid, toneOf } from './grid'
import { Marked } from './Marked'
import { ScrollBox } from './ScrollBox'
import { TileMark } from './TileMark'
import { tileOf } from './tiles'

interface BoardProps {
  grid: Grid
  /** The board one step before; cells that differ are marked. */
  before?: Grid | null
  large?: boolean
}

const WORDS = { empty: styles.empty, solid: styles.solid, sign: styles.sign }

/** A board of square cells. */
export function Board({ grid, before, large = false }: BoardProps) {
  const changed = useMemo(() => changes(before, grid), [before, grid])
  const width = grid[0]?.length ?? 0
  const widest = Math.max(...grid.flat().map((cell) => (tileOf(cell) === undefined ? [...cell].length : 1)), 1)
  const size = letterSize(width, widest, large)
  const told = `Board of ${grid.length} × ${width} cells${changed.size ? `, ${changed.size} changed` : ''}`
  return (
    <ScrollBox className={styles.scroll} label="Board">
      <table className={styles.board} style={{ fontSize: size }} aria-label={told} dir="ltr">
        <tbody>
          {grid.map((row, y) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
            <tr key={y}>
              {row.map((cell, x) => {
                const isChanged = changed.has(y * width + x)
                const classes = [styles.cell, WORDS[toneOf(cell)], isChanged ? styles.changed : '']
                return (
                  <td
                    // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                    key={x}
                    className={classes.join(' ')}
                    data-tip={isChanged ? changeOf(before, y, x, cell) : undefined}
                  >
                    <Cell cell={cell} />
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}

function Cell({ cell }: { cell: string }) {
  const found = tileOf(cell)
  if (found !== undefined) return <TileMark {...found} text={cell} />
  return cell.trim() ? <Marked text={cell} /> : '\u00a0'
}

/** Letters as large as the board's cells can be in the width that there is, within reason. */
function letterSize(across: number, widest: number, large: boolean): string {
  const cell = Math.max(1.75, widest * 0.62 + 0.4)
  const most = widest > 3 ? 0.8 : large ? 1.6 : 0.95
  return `clamp(0.5rem, calc((100cqi - ${across + 3}px) / ${(across * cell).toFixed(2)}), ${most}rem)`
}

function changeOf(before: Grid | null | undefined, y: number, x: number, cell: string): string {
  const old = before?.[y]?.[x] ?? ''
  return `row ${y + 1}, column ${x + 1}: ${old.trim() || 'empty'} → ${cell.trim() || 'empty'}`
}
