import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Progress } from '../parts/Progress'
import { Score } from '../parts/Score'
import { Status } from '../parts/Status'
import { When } from '../parts/When'
import { stateOf } from '../run/headline'
import { ListName } from '../runs/ListName'
import { modelText } from '../runs/model'
import { ownerWords } from '../runs/ownership'
import { codeWords, runName } from '../runs/runName'
import { ImportedBadge } from './ImportedBadge'
import { OfficialBadge } from './OfficialBadge'
import styles from './RunRow.module.css'
import { VisibilityBadge } from './VisibilityBadge'

/** Columns that can be left out; the state then stands below the name. */
export type Optional = 'domain' | 'owner' | 'visibility' | 'state' | 'progress'

/** A run with its state, score and owner. */
export function RunRow({ run, shown }: { run: Schema<'RunSummary'>; shown: (column: Optional) => boolean }) {
  const { counts } = run
  return (
    <tr>
      <th scope="row">
        <Link to="/runs/$runId" params={{ runId: run.id }} data-tip={`${runName(run)}\n${run.id}`}>
          <ListName run={run} />
        </Link>
        {run.name && (
          <div className={styles.model}>{[codeWords(run), modelText(run.model)].filter(Boolean).join(', ')}</div>
        )}
        <div className={styles.mark}>
          {!shown('state') && <Status state={stateOf(run)} stopping={run.stop_requested} />}
          <OfficialBadge protocol={run.protocol} />
          <ImportedBadge imported={run.imported} />
        </div>
      </th>
      {shown('domain') && (
        <td>
          {run.imported === null ? (
            <Link to="/domains/$domainId" params={{ domainId: run.domain_id ?? run.benchmark }}>
              <bdi>{run.benchmark_title || run.benchmark.slice(0, 8)}</bdi>
            </Link>
          ) : (
            <bdi>{run.benchmark_title || run.benchmark}</bdi>
          )}
        </td>
      )}
      {shown('state') && (
        <td>
          <Status state={stateOf(run)} stopping={run.stop_requested} />
        </td>
      )}
      <td data-breaks>
        <Score metric={run.primary} going={run.state === 'running'} />
      </td>
      {shown('progress') && (
        <td data-minor>
          <Progress done={counts.done - counts.failed} failed={counts.failed} total={counts.planned} numbers />
        </td>
      )}
      {shown('owner') && (
        <td data-minor>
          <bdi>{ownerWords(run)}</bdi>
        </td>
      )}
      {shown('visibility') && (
        <td data-minor>
          <VisibilityBadge visibility={run.visibility ?? 'private'} team={run.team_id} workspace={run.workspace_id} />
        </td>
      )}
      <td data-minor>
        <When at={run.created_at} />
      </td>
    </tr>
  )
}
