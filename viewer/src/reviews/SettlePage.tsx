import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { useDocument } from '../api/query'
import { count } from '../format'
import { Failure } from '../parts/Failure'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { useChange } from '../parts/useChange'
import { type Draft, EMPTY, inputOf } from './draft'
import { History } from './History'
import { ItemStrip, ItemView } from './ItemView'
import { RoundTrail } from './ReviewPage'
import styles from './reviews.module.css'
import { useReviewer } from './useReviewer'
import { VerdictForm } from './VerdictForm'

/** An item on which people disagree: what they said, and a verdict that decides. */
export function SettlePage({ roundId, number }: { roundId: string; number: number }) {
  const [reviewer] = useReviewer()
  const navigate = useNavigate()
  const [draft, setDraft] = useState<Draft>(EMPTY)
  const params = { round_id: roundId }
  const round = useDocument('/api/reviews/{round_id}', { params, query: { reviewer } })
  const item = useDocument('/api/reviews/{round_id}/items/{number}', {
    params: { ...params, number },
    query: { reviewer },
  })
  const settle = useChange(
    () =>
      post('/api/reviews/{round_id}/items/{number}/verdicts', {
        params: { ...params, number },
        body: inputOf(draft, reviewer, true),
      }),
    { silent: true, after: () => void navigate({ to: '/reviews/$roundId/agreement', params: { roundId } }) },
  )
  return (
    <Page
      title={`Settle item ${count(number)}`}
      trail={<RoundTrail round={round.data} />}
      actions={
        <LinkButton to="/reviews/$roundId/agreement" params={{ roundId }}>
          Back to the agreement
        </LinkButton>
      }
    >
      {settle.error && <Failure error={settle.error} title="This could not be settled" />}
      <Loaded query={round} title="This round could not be opened">
        {(made) => (
          <Loaded query={item} title="This item could not be opened">
            {(found) => (
              <>
                <ItemStrip item={found} />
                <div className={styles.columns}>
                  <ItemView item={found} guide={made.guide} onStep={(step) => setDraft({ ...draft, step })} />
                  <div className={styles.form}>
                    <Panel title="What people said">
                      <History inRound verdicts={found.verdicts} />
                    </Panel>
                    <VerdictForm
                      round={made}
                      draft={draft}
                      onChange={setDraft}
                      onSave={() => settle.mutate(undefined)}
                      busy={settle.isPending}
                      save="Settle"
                      hint="It decides what counts as the word of the people. What each of them said stays."
                    />
                  </div>
                </div>
              </>
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}
