import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { address } from '../api/address'
import { patch, post } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { count, plural } from '../format'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { useChange } from '../parts/useChange'
import { AgreementItems } from './AgreementItems'
import { JudgePanel } from './JudgePanel'
import { KappaTable } from './KappaTable'
import { kappaWords } from './kappa'
import { RoundTrail } from './ReviewPage'
import styles from './reviews.module.css'
import { useReviewer } from './useReviewer'
import { canReview } from './words'

/** How far people agree with each other, and graders with them; what they disagree on. */
export function AgreementPage() {
  const { roundId } = useParams({ from: '/reviews/$roundId/agreement' })
  const [reviewer] = useReviewer()
  const request = { params: { round_id: roundId }, query: { reviewer } }
  const found = useDocument('/api/reviews/{round_id}/agreement', request)
  const round = found.data?.round
  const disputed = found.data?.items.find((item) => item.disputed)
  return (
    <Page
      title={round ? `Agreement in ${round.name}` : 'Agreement'}
      heading="Agreement"
      trail={<RoundTrail round={round} />}
      aside={
        round && (
          <span className="muted">
            {plural(round.items, 'item')}, {plural(round.reviews, 'review')} each, {count(round.done)} of{' '}
            {count(round.items * round.reviews)} done{round.closed_at ? ', closed' : ''}
          </span>
        )
      }
      actions={
        round && (
          <RoundActions round={round} disputed={disputed?.number} total={found.data?.items.filter(isDisputed).length} />
        )
      }
    >
      <Loaded query={found} title="The agreement could not be computed">
        {(document) => <AgreementView document={document} />}
      </Loaded>
    </Page>
  )
}

function isDisputed(item: Schema<'AgreementItem'>): boolean {
  return item.disputed
}

function AgreementView({ document }: { document: Schema<'AgreementDocument'> }) {
  const search = useSearch({ from: '/reviews/$roundId/agreement' })
  const navigate = useNavigate({ from: '/reviews/$roundId/agreement' })
  const [chosen, setChosen] = useState<string>()
  const { round, alpha, pairs, judges, over } = document
  const judge = judges.find(({ pair }) => pair.other === chosen) ?? judges.find((one) => !one.primary) ?? judges[0]
  return (
    <>
      {over < round.items && (
        <p className={styles.over}>
          {round.blind && !round.closed_at
            ? `Over the items that have all their reviews, ${count(over)} so far; the others stay hidden until then.`
            : `Over ${plural(over, 'item')}.`}
        </p>
      )}
      <div className={styles.agreement}>
        <div className={styles.left}>
          <KappaTable
            title="Between people"
            note={
              alpha
                ? `α ${kappaWords(alpha)} over all; right, wrong or faulty`
                : 'α does not exist yet: it needs two people and two different verdicts'
            }
            pairs={pairs}
            empty="Two people must have judged the same items."
          />
          <KappaTable
            title="People with graders and judges"
            note={`fit from κ with a lower end of ${round.bar}`}
            pairs={judges.map(({ pair }) => pair)}
            empty="No score of these episodes is right or wrong, or no item has all its reviews."
            chosen={judge?.pair.other}
            onChoose={setChosen}
          />
        </div>
        {judge && <JudgePanel judge={judge} />}
      </div>
      <AgreementItems
        document={document}
        show={search.show ?? 'disputed'}
        grader={search.grader ?? judge?.pair.other}
        onShow={(show, grader) => void navigate({ search: { show, grader }, replace: true })}
      />
    </>
  )
}

interface RoundActionsProps {
  round: Schema<'RoundDocument'>
  /** The first item that is to be settled. */
  disputed: number | undefined
  total: number | undefined
}

/** What can be done with a round. */
function RoundActions({ round, disputed, total = 0 }: RoundActionsProps) {
  const [reviewer] = useReviewer()
  const [asks, setAsks] = useState(false)
  const request = { params: { round_id: round.id }, query: { reviewer } }
  const scores = useChange(() => post('/api/reviews/{round_id}/scores', request), {
    done: 'The verdicts are the score “human” of the runs now.',
    after: () => setAsks(false),
  })
  const close = useChange((closed: boolean) => patch('/api/reviews/{round_id}', { ...request, body: { closed } }))
  const path = '/api/reviews/{round_id}/export'
  return (
    <>
      {canReview(round) && (
        <LinkButton to="/reviews/$roundId" params={{ roundId: round.id }}>
          Review
        </LinkButton>
      )}
      <a className={styles.download} href={address(path, { round_id: round.id }, { format: 'csv', reviewer })} download>
        Verdicts as CSV
      </a>
      {round.may_change && (
        <>
          <Button busy={close.isPending} onClick={() => close.mutate(round.closed_at === null)}>
            {round.closed_at === null ? 'Close' : 'Open again'}
          </Button>
          <Button onClick={() => setAsks(true)}>Verdicts as scores</Button>
        </>
      )}
      {round.may_judge && disputed !== undefined && (
        <LinkButton to="/reviews/$roundId" params={{ roundId: round.id }} search={{ settle: disputed }} look="primary">
          Settle {count(total)} disputed
        </LinkButton>
      )}
      <ConfirmDialog
        open={asks}
        title="Take the verdicts as scores?"
        confirm="Take them"
        busy={scores.isPending}
        onConfirm={() => scores.mutate(undefined)}
        onClose={() => setAsks(false)}
      >
        <p>
          Each run gets the score and metric “human”: 1 for right, 0 for wrong, with the names of the reviewers. Items
          that are disputed, faulty or unclear get none. The primary metric stays what it is.
        </p>
      </ConfirmDialog>
    </>
  )
}
