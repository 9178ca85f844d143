import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { count, plural } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Failure } from '../parts/Failure'
import { Key } from '../parts/Key'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { GraderList } from './GraderList'
import { ItemStrip, ItemView } from './ItemView'
import styles from './reviews.module.css'
import { SettlePage } from './SettlePage'
import { useQueue } from './useQueue'
import { VerdictForm } from './VerdictForm'
import { timeLeft } from './words'

/** A round: the next item to judge, or the one that is to be settled. */
export function ReviewPage() {
  const { roundId } = useParams({ from: '/reviews/$roundId' })
  const { settle } = useSearch({ from: '/reviews/$roundId' })
  return settle === undefined ? (
    <Queue key={roundId} roundId={roundId} />
  ) : (
    <SettlePage roundId={roundId} number={settle} />
  )
}

/** Where one came from, above the heading. */
export function RoundTrail({ round }: { round: Schema<'RoundDocument'> | undefined }) {
  return (
    <>
      <Link to="/reviews">Reviews</Link>
      {round && (
        <>
          {' › '}
          <bdi>{round.name}</bdi>
        </>
      )}
    </>
  )
}

function Queue({ roundId }: { roundId: string }) {
  const queue = useQueue(roundId)
  const { turn, draft, setDraft, saved, took, busy } = queue
  const round = turn.data?.round
  const item = turn.data?.item ?? undefined
  const total = round?.items ?? 0
  const at = Math.min((round?.mine ?? 0) + 1, total)
  useShortcut('s', 'Skip', () => item && queue.skip(item.number), { group: 'Review', enabled: item !== undefined })
  useShortcut('u', 'Undo', queue.undo, { group: 'Review', enabled: saved !== undefined })
  const left = timeLeft(took, total - (round?.mine ?? 0))
  return (
    <Page
      title={item ? `Review ${count(at)} of ${count(total)}` : 'Review'}
      trail={<RoundTrail round={round} />}
      aside={round?.blind && item && <Hidden />}
      actions={
        round && (
          <>
            {left && <span className={styles.left_time}>{left}</span>}
            {item && (
              <Button disabled={busy} onClick={() => queue.skip(item.number)}>
                Skip <Key keys="s" />
              </Button>
            )}
            <Button disabled={busy || saved === undefined} onClick={queue.undo}>
              Undo <Key keys="u" />
            </Button>
            <LinkButton to="/reviews/$roundId/agreement" params={{ roundId }}>
              Agreement
            </LinkButton>
          </>
        )
      }
    >
      {round && (
        <div
          className={styles.progress}
          role="progressbar"
          aria-label="Your reviews"
          aria-valuemin={0}
          aria-valuemax={total}
          aria-valuenow={round.mine}
          aria-valuetext={`${count(round.mine)} of ${count(total)} reviewed by you`}
        >
          <span style={{ width: `${total > 0 ? (100 * round.mine) / total : 0}%` }} />
        </div>
      )}
      <div aria-live="polite" className={styles.revealed}>
        {queue.revealed && <GraderList graders={queue.revealed} title="Of the last one, the graders said" />}
      </div>
      {queue.error && <Failure error={queue.error} title="This could not be saved" />}
      <Loaded query={turn} title="This round could not be opened">
        {({ round: made, item: next, with_others: others }) =>
          next ? (
            <>
              <ItemStrip item={next} />
              <div className={styles.columns}>
                <ItemView
                  key={next.number}
                  item={next}
                  guide={made.guide}
                  onStep={(step) => setDraft({ ...draft, step })}
                />
                <VerdictForm
                  // The focus leaves the fields with the item, so that keys choose verdicts again.
                  key={`form ${next.number}`}
                  round={made}
                  draft={draft}
                  onChange={setDraft}
                  onSave={() => queue.save(next.number)}
                  busy={busy}
                  save="Save and next"
                  hint={hintOf(made)}
                />
              </div>
            </>
          ) : (
            <Done round={made} others={others} />
          )
        }
      </Loaded>
    </Page>
  )
}

/** What is hidden from who has yet to judge. */
function Hidden() {
  return (
    <>
      <Badge icon="minus">model hidden</Badge>
      <Badge icon="minus">other reviewers hidden</Badge>
      <Badge icon="minus">grader’s verdict after yours</Badge>
    </>
  )
}

function hintOf(round: Schema<'RoundDocument'>): string {
  const saved = 'Saved at once; undo with u. After saving, the grader’s verdict shows for two seconds.'
  if (!round.blind) return saved
  return `${saved} Nobody sees yours before the item has its ${plural(round.reviews, 'review')}.`
}

/** Nothing is left for the person. */
function Done({ round, others }: { round: Schema<'RoundDocument'>; others: number }) {
  const title = round.closed_at
    ? 'This round is closed'
    : others > 0
      ? 'The rest is before other reviewers'
      : 'Nothing is left for you'
  return (
    <Empty title={title}>
      {others > 0 && !round.closed_at && (
        <p>{plural(others, 'episode')} may come back to you; this page looks again by itself.</p>
      )}
      <p>
        {count(round.done)} of {count(round.items * round.reviews)} reviews are done, {count(round.mine)} of them yours.
      </p>
      <LinkButton to="/reviews/$roundId/agreement" params={{ roundId: round.id }} look="primary">
        See the agreement
      </LinkButton>
    </Empty>
  )
}
