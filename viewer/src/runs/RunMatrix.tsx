import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useMemo, useRef, useState } from 'react'
import type { Schema } from '../api/types'
import { count, measure, plural, sentence } from '../format'
import { Empty } from '../parts/Empty'
import { useRoomBelow } from '../run/useRoomBelow'
import { clip } from './clip'
import { KeyLine } from './KeyLine'
import { boundsOf, type Cell, matrixOf, moved } from './matrix'
import { Errors, rangeWords } from './numbers'
import type { Run } from './page'
import styles from './RunMatrix.module.css'
import { runName } from './runName'
import { compact, type RunsSearch } from './search'
import type { Standing } from './ToBaseline'
import { useCompare } from './useCompare'
import { useStandings } from './useStandings'

const KEYS = [
  [['ArrowLeft', 'ArrowUp', 'ArrowDown', 'ArrowRight'], 'move'],
  [['Enter'], 'open the run'],
  [[' '], 'all runs of the cell'],
  [['c'], 'compare the row'],
] as const
const NO_BASELINE: readonly string[] = []

/** Runs by benchmark and model: the latest run with the most tasks in each cell, against the best of its row. */
export function RunMatrix({ search, runs }: { search: RunsSearch; runs: readonly Run[] }) {
  const box = useRef<HTMLDivElement>(null)
  const maxHeight = useRoomBelow(box, '22rem')
  const { rows, models } = useMemo(() => matrixOf(runs), [runs])
  const shown = useMemo(() => rows.flatMap(({ cells }) => [...cells.values()].map(({ run }) => run)), [rows])
  const standings = useStandings(shown, search.baseline ?? NO_BASELINE)
  const [at, setAt] = useState<readonly [number, number]>([0, 0])
  const navigate = useNavigate()
  const compare = useCompare()
  const go = (next: readonly [number, number]) => {
    setAt(next)
    box.current?.querySelector<HTMLElement>(`[data-place="${next.join()}"]`)?.focus()
  }
  const press = (event: KeyboardEvent, place: readonly [number, number], cell: Cell | undefined) => {
    const row = rows[place[0]]
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key.startsWith('Arrow')) go(moved(place, event.key, rows.length, models.length))
    else if (event.key === 'Enter' && cell) void navigate({ to: '/runs/$runId', params: { runId: cell.run.id } })
    else if (event.key === ' ' && cell) {
      const model = [...new Set(cell.runs.map((run) => run.model))]
      void navigate({
        to: '/',
        search: compact({ ...search, view: undefined, benchmark: [cell.run.benchmark], model }),
      })
    } else if (event.key === 'c' && row && row.cells.size > 1) {
      compare([...row.cells.values()].map(({ run }) => run.id))
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  if (rows.length === 0) return <Empty title="No runs of models here" />
  return (
    <div ref={box} className={styles.matrix}>
      <div className={styles.frame} style={{ maxHeight: `calc(${maxHeight} - 2.25rem)` }}>
        {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its cells are moved through by arrows */}
        <table role="grid" aria-label="Runs by benchmark and model">
          <thead>
            <tr>
              <th scope="col">Benchmark</th>
              <th scope="col" className={styles.bound} data-tip="What random or empty answers reach">
                Floor
              </th>
              <th scope="col" className={styles.bound} data-tip="What the environment's own best actions reach">
                Ceiling
              </th>
              {models.map((model) => (
                <th key={model} scope="col">
                  <bdi>{clip(model, 80)}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, y) => {
              const { floor, ceiling } = boundsOf(row, standings)
              return (
                <tr key={row.benchmark}>
                  <th scope="row">
                    <bdi className={styles.title} data-tip={row.title}>
                      {clip(row.title, 80)}
                    </bdi>
                    <span className={styles.metric}>{clip(row.metric, 60)}</span>
                  </th>
                  <Bound bound={floor} />
                  <Bound bound={ceiling} />
                  {models.map((model, x) => {
                    const cell = row.cells.get(model)
                    return (
                      <td
                        key={model}
                        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a cell of a grid
                        role="gridcell"
                        tabIndex={at[0] === y && at[1] === x ? 0 : -1}
                        data-place={`${y},${x}`}
                        data-run={cell?.run.id}
                        onFocus={() => setAt([y, x])}
                        onKeyDown={(event) => press(event, [y, x], cell)}
                        onClick={() => cell && void navigate({ to: '/runs/$runId', params: { runId: cell.run.id } })}
                      >
                        {cell ? <CellContent cell={cell} standing={standings.get(cell.run.id)} /> : <None />}
                      </td>
                    )
                  })}
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <KeyLine keys={KEYS} legend={false} />
    </div>
  )
}

function None() {
  return (
    <span className={styles.none}>
      <span aria-hidden="true">–</span>
      <span className="hidden-text">no run</span>
    </span>
  )
}

function Bound({ bound }: { bound: Schema<'BoundDocument'> | null }) {
  return (
    <td className={styles.bound} data-tip={bound ? `${bound.model}, n ${count(bound.n)}` : undefined}>
      {bound ? measure(bound.value) : '–'}
    </td>
  )
}

const WHY: Partial<Record<Standing['state'], string>> = { other_tasks: '≠ tasks', few_tasks: 'few tasks' }

function CellContent({ cell, standing }: { cell: Cell; standing: Standing | undefined }) {
  const { run, runs } = cell
  const { primary } = run
  const worse = standing?.state === 'difference' && standing.better === false
  const more = runs.length > 1 ? `${plural(runs.length, 'run')}; space lists them` : ''
  return (
    <span
      className={styles.cell}
      data-tip={[runName(run), run.id, standing && sentence(standing.why), more].filter(Boolean).join('\n')}
    >
      <span>
        <strong className={styles.value} data-worse={worse || undefined}>
          {primary?.value == null ? 'no score' : measure(primary.value)}
        </strong>{' '}
        <span className={styles.range}>{rangeWords(primary)}</span>
      </span>
      <span className={styles.second}>
        n {count(primary?.n_scored ?? 0)}
        {standing && WHY[standing.state] && ` ${WHY[standing.state]}`}
        {worse && <span className="hidden-text"> worse than the best of the row</span>}
        {run.counts.errors > 0 && <Errors run={run} />}
      </span>
    </span>
  )
}
