import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import { measure } from '../format'
import { Money } from '../parts/Money'
import { PlainTable } from '../parts/PlainTable'
import { Score } from '../parts/Score'
import { Status } from '../parts/Status'
import { useNarrow } from '../parts/useNarrow'
import { When } from '../parts/When'
import { isGoing, stateOf } from '../run/headline'
import { ListName } from '../runs/ListName'
import { modelText } from '../runs/model'
import { runName } from '../runs/runName'
import { changesBetween, changeWords, codeText } from './changes'
import styles from './configuration.module.css'
import { type Compared, Difference } from './Difference'
import type { Run } from './history'

interface ConfigurationRunsProps {
  runs: readonly Run[]
  /** Ids of the runs that are chosen to be compared, at most two. */
  chosen: readonly string[]
  onChoose: (runId: string) => void
}

/** The runs of a configuration, newest first, each with what changed since the one before. */
export function ConfigurationRuns({ runs, chosen, onChoose }: ConfigurationRunsProps) {
  return (
    <PlainTable label="Table of runs" className={styles.runs}>
      <thead>
        <tr>
          <th scope="col">
            <span className="hidden-text">Compare</span>
          </th>
          <th scope="col">Run</th>
          <th scope="col" data-minor data-wide>
            Model
          </th>
          <th scope="col">Score</th>
          <th scope="col" data-numeric data-minor>
            To the last
          </th>
          <th scope="col" data-minor>
            What changed
          </th>
          <th scope="col" data-numeric data-minor data-wide>
            Errors
          </th>
          <th scope="col" data-numeric data-minor data-wide>
            Cost
          </th>
          <th scope="col" data-minor>
            Started
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.id} run={run} chosen={chosen.includes(run.id)} onChoose={onChoose} />
        ))}
      </tbody>
    </PlainTable>
  )
}

function RunRow({ run, chosen, onChoose }: { run: Run; chosen: boolean; onChoose: (runId: string) => void }) {
  const narrow = useNarrow()
  const evaluation = run.request?.evaluation
  const name = runName(run)
  const before = useQuery({
    ...documentQuery('/api/runs/{run_id}/previous', { params: { run_id: run.id } }),
    enabled: !isGoing(run),
    staleTime: 60_000,
  }).data
  const earlier = before?.run
  return (
    <tr data-chosen={chosen || undefined}>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare ${name}`}
          checked={chosen}
          disabled={isGoing(run)}
          onChange={() => onChoose(run.id)}
        />
      </td>
      <th scope="row">
        <Link to="/runs/$runId" params={{ runId: run.id }} data-full={name}>
          <ListName run={run} />
        </Link>
        {evaluation && (
          <span className={styles.second} data-tip={codeText(evaluation)}>
            <bdi>{codeText(evaluation)}</bdi>
          </span>
        )}
      </th>
      <td data-minor data-wide>
        <bdi data-full={run.model}>{modelText(run.model)}</bdi>
      </td>
      <td>
        {run.state === 'finished' ? <Score metric={run.primary} show="stack" /> : <Unfinished run={run} />}
        {narrow && (
          <span className={styles.change}>
            change <Since compared={before?.change} note={before?.note} />
          </span>
        )}
      </td>
      <td data-numeric data-minor>
        <Since compared={before?.change} note={before?.note} />
      </td>
      <td data-minor>
        <span className={styles.words}>
          {before && (earlier ? changeWords(changesBetween(earlier, run)) : 'the first run')}
        </span>
      </td>
      <td data-numeric data-minor data-wide>
        {run.counts.failed}
      </td>
      <td data-numeric data-minor data-wide>
        <Money usd={run.usage.cost_usd} />
      </td>
      <td data-minor>
        <When at={run.created_at} />
      </td>
    </tr>
  )
}

function Unfinished({ run }: { run: Run }) {
  return (
    <>
      <Status state={stateOf(run)} stopping={run.stop_requested} />
      {run.primary?.value != null && <span className={styles.second}>{measure(run.primary.value)} so far</span>}
    </>
  )
}

/** How a run did against the last finished one before it. */
function Since({ compared, note = '' }: { compared: Compared | null | undefined; note?: string }) {
  if (compared) return <Difference compared={compared} />
  return (
    <span className="muted" data-full={note || undefined}>
      –
    </span>
  )
}
