import { memo } from 'react'
import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { Tokens } from '../parts/Tokens'
import { When } from '../parts/When'
import { VisibilityBadge } from '../runlist/VisibilityBadge'
import { Attempts } from './Attempts'
import type { ColumnId } from './columns'
import { GroupLink } from './GroupLink'
import { modelWords } from './model'
import { Errors, rangeWords, Scored } from './numbers'
import { Outcome } from './Outcome'
import { ownerWords } from './ownership'
import { PublishedScore } from './PublishedScore'
import type { Row, Run } from './page'
import { RenameField } from './RenameField'
import { RunLink } from './RunLink'
import styles from './RunList.module.css'
import { RunScore } from './RunScore'
import { RunState } from './RunState'
import { ScaleBar } from './ScaleBar'
import type { Scale } from './scale'
import { Tags } from './Tags'
import { type Standing, ToBaseline } from './ToBaseline'
import { TwoLines } from './TwoLines'

/** Which value of which run. */
interface RunCellProps {
  column: ColumnId
  row: Row
  scale: Scale | undefined
  standing: Standing | undefined
  open: boolean
  onFold: (signature: string) => void
  renaming: boolean
  onRenamed: (run: Run | undefined) => void
}

/** What stands in one column of a run. */
export const RunCell = memo(function RunCell(props: RunCellProps) {
  const { column, row, scale, standing, open, onFold, renaming, onRenamed } = props
  const { run } = row
  // The id of a domain is a UUID, which says nothing.
  const hosted = run.domain_id !== null
  switch (column) {
    case 'name':
      return renaming ? <RenameField run={run} onDone={onRenamed} /> : <RunLink row={row} open={open} onFold={onFold} />
    case 'benchmark':
      return (
        <TwoLines
          first={run.benchmark_title || run.benchmark}
          second={hosted || sameWords(run.benchmark_title, run.benchmark) ? '' : run.benchmark}
          title={version(row)}
        />
      )
    case 'model': {
      const { name, server } = modelWords(run.model)
      return <TwoLines first={name} second={server} title={run.model} />
    }
    case 'agent':
      return <TwoLines first={run.agent} />
    case 'owner':
      return <TwoLines first={ownerWords(run)} title={run.owner ?? undefined} />
    case 'visibility':
      return run.visibility ? (
        <VisibilityBadge visibility={run.visibility} team={run.team_id} workspace={run.workspace_id} />
      ) : null
    case 'state':
      return <RunState run={run} />
    case 'outcome':
      return <Outcome run={run} />
    case 'score':
      return <RunScore run={run} />
    case 'interval':
      return <span className={styles.small}>{rangeWords(run.primary)}</span>
    case 'scale':
      return <ScaleBar run={run} scale={scale} floor={standing?.floor} ceiling={standing?.ceiling} />
    case 'n':
      return <Scored run={run} />
    case 'baseline':
      return <ToBaseline standing={standing} />
    case 'errors':
      return <Errors run={run} />
    case 'published':
      return <PublishedScore run={run} />
    case 'cost':
      return <Money usd={run.usage.cost_usd} />
    case 'tokens':
      return <Tokens value={run.usage.total} />
    case 'duration':
      return <Duration seconds={run.duration_s} />
    case 'created_at':
      return <When at={run.created_at} />
    case 'attempt':
      return <Attempts run={run} />
    case 'tags':
      return <Tags tags={run.tags} />
    case 'kind':
      return <TwoLines first={run.kind} />
    case 'group':
      return <GroupLink group={run.group_id} />
    case 'id':
      return <code className={styles.id}>{run.id}</code>
  }
}, same)

/** Cells are drawn again only when what they show is another one. */
function same(before: RunCellProps, after: RunCellProps): boolean {
  const [one, other] = [before.row, after.row]
  if (before.standing !== after.standing || before.renaming !== after.renaming) return false
  if (before.column !== after.column || before.open !== after.open || before.onFold !== after.onFold) return false
  if (one.run !== other.run || one.nested !== other.nested || one.attempts.length !== other.attempts.length)
    return false
  return before.scale?.[0] === after.scale?.[0] && before.scale?.[1] === after.scale?.[1]
}

function version({ run }: Row): string {
  return [run.benchmark_title, run.benchmark, run.benchmark_version, run.benchmark_digest].filter(Boolean).join('\n')
}

/** Whether a title says no more than the id: `Grid world` and `grid-world`. */
function sameWords(title: string, id: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
  return plain(title) === plain(id)
}
