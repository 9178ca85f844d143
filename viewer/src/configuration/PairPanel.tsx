import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { Failure } from '../parts/Failure'
import { LinkButton } from '../parts/LinkButton'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import panels from '../parts/panels.module.css'
import { Skeleton } from '../parts/Skeleton'
import { ListName } from '../runs/ListName'
import { runName } from '../runs/runName'
import { changesBetween } from './changes'
import styles from './configuration.module.css'
import { type Compared, DifferenceText } from './Difference'
import type { Run } from './history'

interface PairProps {
  /** The earlier run and the later one. */
  pair: readonly [Run, Run]
}

/** Two chosen runs: what changed between them, and whether their scores really differ. */
export function ChosenPair({ pair }: PairProps) {
  const [earlier, later] = pair
  const found = useQuery(documentQuery('/api/compare', { query: { run: [earlier.id, later.id] } }))
  const told = found.data && comparedOf(found.data)
  return (
    <PairPanel title="The chosen runs" pair={pair}>
      {found.error ? (
        <Failure error={found.error} title="The runs could not be compared" onRetry={() => void found.refetch()} />
      ) : told ? (
        <Told compared={told.compared} note={told.note} />
      ) : (
        <Skeleton height="1.5rem" />
      )}
    </PairPanel>
  )
}

/** A run and the last finished one before it. */
export function LastPair({ run }: { run: Run }) {
  const found = useQuery({
    ...documentQuery('/api/runs/{run_id}/previous', { params: { run_id: run.id } }),
    staleTime: 60_000,
  })
  if (!found.data?.run) return null
  return (
    <PairPanel title="Since the last run" pair={[found.data.run, run]}>
      <Told compared={found.data.change} note={found.data.note} />
    </PairPanel>
  )
}

function Told({ compared, note }: { compared: Compared | null; note: string }) {
  return (
    <>
      {compared && (
        <p className={styles.headline}>
          <DifferenceText compared={compared} />
        </p>
      )}
      {note && <p className="muted">{note}</p>}
      {!compared && !note && <p className="muted">There is no score to compare.</p>}
    </>
  )
}

function PairPanel({ title, pair, children }: PairProps & { title: string; children: React.ReactNode }) {
  const [earlier, later] = pair
  const changes = changesBetween(earlier, later)
  return (
    <Panel
      title={title}
      actions={
        <LinkButton to="/compare" search={{ run: [earlier.id, later.id] }} icon="compare">
          Compare task by task
        </LinkButton>
      }
    >
      <div className={panels.stack}>
        <p className={panels.facts}>
          <RunLink run={earlier} /> → <RunLink run={later} />
        </p>
        {children}
        {changes.length === 0 ? (
          <p className="muted">Nothing changed: the same code, dataset, model and settings.</p>
        ) : (
          <PlainTable label="What changed">
            <thead>
              <tr>
                <th scope="col">What changed</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(({ name, before, after }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <Value text={before} />
                  <Value text={after} />
                </tr>
              ))}
            </tbody>
          </PlainTable>
        )}
      </div>
    </Panel>
  )
}

function Value({ text }: { text: string }) {
  return (
    <td data-breaks>
      <span className={styles.value}>{text ? <bdi>{text}</bdi> : <span className="muted">not set</span>}</span>
    </td>
  )
}

function RunLink({ run }: { run: Run }) {
  return (
    <Link to="/runs/$runId" params={{ runId: run.id }} data-full={runName(run)}>
      <ListName run={run} />
    </Link>
  )
}

/** The comparison of two runs as one difference; none, with the reason, where they have nothing to compare. */
function comparedOf({ benchmarks }: Schema<'ComparisonDocument'>): { compared: Compared | null; note: string } {
  const [first, ...rest] = benchmarks
  const pair = first?.pairs[0]
  if (rest.length > 0) return { compared: null, note: 'The runs are of different datasets.' }
  if (!pair) return { compared: null, note: first?.note ?? '' }
  const verdict = pair.winner === 'tie' ? 'tie' : pair.winner === 'b' ? 'better' : 'worse'
  return { compared: { ...pair, p_value: pair.p_adjusted, verdict }, note: first?.note ?? '' }
}
