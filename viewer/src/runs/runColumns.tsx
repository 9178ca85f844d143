import { type Column, WIDEST } from '../parts/column'
import { offeredColumns } from './columns'
import { isHead, type ListRow, type Row, type Run } from './page'
import { RunCard } from './RunCard'
import { RunCell } from './RunCell'
import { type Scale, scaleKey } from './scale'
import type { Standing } from './ToBaseline'
import { titleOf } from './wording'

/** What the columns of the list depend on. */
interface RunColumnsProps {
  /** Columns that a person chose. */
  chosen: readonly string[] | undefined
  /** Widths that a person chose: `score:90`. */
  widths: readonly string[] | undefined
  /** The runs that are there. */
  runs: readonly Run[]
  scales: ReadonlyMap<string, Scale>
  standings: ReadonlyMap<string, Standing>
  /** Whether all runs are of rollouts. */
  rollouts?: boolean
  /** Signatures of which all attempts are shown. */
  open: ReadonlySet<string>
  onFold: (signature: string) => void
  /** Id of the run that gets a name. */
  renaming: string | undefined
  onRenamed: (run: Run | undefined) => void
}

/** The columns of the list. */
export function runColumns(props: RunColumnsProps): Column<ListRow>[] {
  const { chosen, runs, rollouts = false } = props
  const widths = readWidths(props.widths)
  return offeredColumns(chosen, runs).map(({ id, title, hint, width, grow, numeric, sort, priority }) => ({
    key: id,
    header: titleOf(id, title, rollouts),
    title: hint,
    width: widths.get(id) ?? width,
    grow: widths.has(id) ? 0 : grow,
    align: numeric ? 'end' : 'start',
    sort,
    priority,
    render: ofRun((row) => (
      <RunCell
        column={id}
        row={row}
        scale={props.scales.get(scaleKey(row.run))}
        standing={props.standings.get(row.run.id)}
        open={props.open.has(row.run.signature)}
        onFold={props.onFold}
        renaming={props.renaming === row.run.id}
        onRenamed={props.onRenamed}
      />
    )),
  }))
}

/** The one column of a narrow screen: everything that matters of a run below each other. */
export function narrowRunColumns({ standings, scales, open, onFold }: RunColumnsProps): Column<ListRow>[] {
  return [
    {
      key: 'run',
      header: 'Run',
      sort: 'created_at',
      width: 200,
      grow: 1,
      render: ofRun((row) => (
        <RunCard
          row={row}
          scale={scales.get(scaleKey(row.run))}
          standing={standings.get(row.run.id)}
          open={open.has(row.run.signature)}
          onFold={onFold}
        />
      )),
    },
  ]
}

function ofRun(render: (row: Row) => React.ReactNode): (row: ListRow) => React.ReactNode {
  return (row) => (isHead(row) ? null : render(row))
}

/** Widths by column from `score:90`; anything else is ignored. */
export function readWidths(written: readonly string[] | undefined): Map<string, number> {
  const found = new Map<string, number>()
  for (const one of written ?? []) {
    const [, id, pixels] = /^([a-z_]+):(\d{2,3})$/.exec(one) ?? []
    if (id !== undefined && Number(pixels) <= WIDEST) found.set(id, Number(pixels))
  }
  return found
}

/** Widths with that of one column changed, as they stand in an address. */
export function withWidth(written: readonly string[] | undefined, id: string, width: number): string[] {
  const next = readWidths(written).set(id, width)
  return [...next].map(([key, pixels]) => `${key}:${pixels}`)
}
