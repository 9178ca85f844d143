import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { count } from '../format'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { ReviewerName } from './ReviewerName'
import { RoundForm } from './RoundForm'
import styles from './reviews.module.css'
import { useReviewer } from './useReviewer'
import { canReview } from './words'

/** The review rounds, and a form for another one. */
export function ReviewsPage() {
  const { run } = useSearch({ from: '/reviews' })
  const navigate = useNavigate({ from: '/reviews' })
  const [reviewer] = useReviewer()
  const [opened, setOpened] = useState(run !== undefined)
  const rounds = useDocument('/api/reviews', { query: { reviewer } })
  return (
    <Page
      title="Reviews"
      note="People judge episodes: what is wrong with them, and how far graders can be trusted."
      actions={
        !opened && (
          <Button look="primary" icon="plus" onClick={() => setOpened(true)}>
            New round
          </Button>
        )
      }
    >
      {opened && (
        <Panel title="New round">
          <RoundForm
            runs={run ?? []}
            onClose={() => {
              setOpened(false)
              void navigate({ search: {}, replace: true })
            }}
          />
        </Panel>
      )}
      <Loaded query={rounds} title="The review rounds could not be loaded">
        {(found) => (
          <>
            {found.items.length > 0 ? (
              <Panel flush>
                <RoundTable rounds={found.items} />
              </Panel>
            ) : (
              <Empty title="No review rounds yet" command="mesocosm review create RUN --sample 40 --reviews 2">
                Draw some episodes of a run, let two or more people judge them, and see whether the grader agrees.
              </Empty>
            )}
            <ReviewerName reviewer={found.reviewer} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function RoundTable({ rounds }: { rounds: readonly Schema<'RoundDocument'>[] }) {
  return (
    <PlainTable label="Review rounds">
      <thead>
        <tr>
          <th scope="col">Round</th>
          <th scope="col" data-minor>
            Episodes
          </th>
          <th scope="col" data-numeric>
            Reviews
          </th>
          <th scope="col" data-numeric data-minor>
            Yours
          </th>
          <th scope="col" data-minor>
            By
          </th>
          <th scope="col" data-minor>
            Created
          </th>
          <th scope="col">
            <span className="hidden-text">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rounds.map((round) => (
          <tr key={round.id}>
            <th scope="row">
              <Link to="/reviews/$roundId/agreement" params={{ roundId: round.id }} data-full={round.name}>
                <bdi>{round.name}</bdi>
              </Link>{' '}
              {round.closed_at !== null && <Badge tone="idle">closed</Badge>}
            </th>
            <td data-minor>{round.drawn}</td>
            <td data-numeric>
              {count(round.done)} of {count(round.items * round.reviews)}
            </td>
            <td data-numeric data-minor>
              {count(round.mine)}
            </td>
            <td data-minor>
              <bdi>{round.created_by}</bdi>
            </td>
            <td data-minor>
              <When at={round.created_at} />
            </td>
            <td data-numeric className={styles.actions}>
              {canReview(round) && (
                <span>
                  <LinkButton to="/reviews/$roundId" params={{ roundId: round.id }}>
                    Review
                  </LinkButton>
                </span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
