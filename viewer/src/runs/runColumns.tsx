import type { Column } from '../parts/column'
import { offeredColumns } from './columns'
import type { Row } from './page'
import { RunCard } from './RunCard'
import { RunCell } from './RunCell'
import { type Scale, scaleKey } from './scale'
import { titleOf } from './wording'

/** What the columns of the list depend on. */
interface RunColumnsProps {
  /** Columns that a person chose. */
  chosen: readonly string[] | undefined
  scales: ReadonlyMap<string, Scale>
  /** Whether a published score is known of any of the runs. */
  published?: boolean
  /** Whether all runs are of rollouts. */
  rollouts?: boolean
  /** Signatures of which all attempts are shown. */
  open: ReadonlySet<string>
  onFold: (signature: string) => void
}

/** The priority of the rollout in a list of such runs: above cost and tokens. */
const ROLLOUT = 4

/** The columns of the list. */
export function runColumns({
  chosen,
  scales,
  published,
  rollouts = false,
  open,
  onFold,
}: RunColumnsProps): Column<Row>[] {
  return offeredColumns(chosen, published).map(({ id, title, hint, width, grow, numeric, sort, priority }) => ({
    key: id,
    header: titleOf(id, title, rollouts),
    title: hint,
    width,
    grow,
    align: numeric ? 'end' : 'start',
    sort,
    // A rollout is what such a run is about; the agent of other runs is mostly the same.
    priority: rollouts && id === 'agent' && priority !== 1 ? ROLLOUT : priority,
    render: (row) => (
      <RunCell
        column={id}
        row={row}
        scale={scales.get(scaleKey(row.run))}
        open={open.has(row.run.signature)}
        onFold={onFold}
      />
    ),
  }))
}

/** The one column of a narrow screen: everything that matters of a run below each other. */
export function narrowRunColumns({ scales, open, onFold }: RunColumnsProps): Column<Row>[] {
  return [
    {
      key: 'run',
      header: 'Run',
      sort: 'created_at',
      width: 200,
      grow: 1,
      render: (row) => (
        <RunCard row={row} scale={scales.get(scaleKey(row.run))} open={open.has(row.run.signature)} onFold={onFold} />
      ),
    },
  ]
}
