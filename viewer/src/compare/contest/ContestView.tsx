/** A stored comparison of two models on the same benchmarks. */

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CopyButton } from '../../parts/CopyButton'
import { Failure } from '../../parts/Failure'
import { Page } from '../../parts/Page'
import { Panel } from '../../parts/Panel'
import { Skeleton } from '../../parts/Skeleton'
import { When } from '../../parts/When'
import { colourOf, letterOf } from '../CompareLabels'
import { CompareLetter } from '../CompareLetter'
import { ContestReasons } from './ContestReasons'
import { ContestTable } from './ContestTable'
import styles from './ContestView.module.css'
import { type Contest, sideName, tally, tallyWords } from './contest'
import { contestQuery } from './contestQuery'

/** How often (ms) a comparison that goes on is read again. */
const LIVE_MS = 5_000

export function ContestView({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    ...contestQuery(id),
    refetchInterval: ({ state }) => (goesOn(state.data) ? LIVE_MS : false),
  })
  const title = data === undefined ? 'Compare' : data.sides.map(sideName).join(' and ')
  return (
    <Page
      title={title}
      heading="Compare two models"
      trail={<Link to="/compare">Compare</Link>}
      note={data && tallyWords(tally(data.rows))}
    >
      {error !== null && data === undefined && (
        <Failure error={error} title="This comparison could not be loaded" onRetry={() => void refetch()} />
      )}
      {error === null && data === undefined && <Skeleton height="24rem" />}
      {data && <Sides contest={data} />}
      {data && (
        <Panel
          title="Benchmarks"
          note="Δ = B − A with its 95% interval; a tie unless the interval excludes 0 and the test is significant"
          flush
        >
          <ContestTable contest={data} />
        </Panel>
      )}
      {data && <ContestReasons contest={data} />}
    </Page>
  )
}

function Sides({ contest }: { contest: Contest }) {
  return (
    <dl className={styles.sides}>
      {contest.sides.map((side, index) => (
        <div key={side.group_id}>
          <dt>
            <CompareLetter letter={letterOf(index)} colour={colourOf(index)} />
          </dt>
          <dd>
            <strong>
              <bdi>{sideName(side)}</bdi>
            </strong>
            {side.base_url !== '' && <code>{side.base_url}</code>}
            <span className="muted">
              <Link to="/" search={{ group: [side.group_id] }}>
                view runs
              </Link>
              , <When at={side.created_at} />
            </span>
          </dd>
        </div>
      ))}
      <div>
        <dt className="muted">ID</dt>
        <dd>
          <span>
            <code>{contest.id}</code> <CopyButton text={contest.id} label="Copy comparison ID" />
          </span>
        </dd>
      </div>
    </dl>
  )
}

function goesOn(contest: Contest | undefined): boolean {
  return contest?.rows.some(({ a, b }) => a.status === 'running' || b.status === 'running') ?? false
}
