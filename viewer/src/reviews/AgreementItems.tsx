import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Schema } from '../api/types'
import { count } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { LinkButton } from '../parts/LinkButton'
import { PlainTable } from '../parts/PlainTable'
import styles from './reviews.module.css'
import type { AgreementSearch } from './search'
import { answerWord } from './words'

type Shown = NonNullable<AgreementSearch['show']>

interface AgreementItemsProps {
  document: Schema<'AgreementDocument'>
  show: Shown
  /** The grader of `against`. */
  grader: string | undefined
  onShow: (show: Shown, grader: string | undefined) => void
}

/** The items with what each person said: disputed ones first. */
export function AgreementItems({ document, show, grader, onShow }: AgreementItemsProps) {
  const navigate = useNavigate()
  const { items, judges, round } = document
  const [at, setAt] = useState(0)
  const disputed = items.filter((item) => item.disputed)
  const against = (name: string) => items.filter((item) => item.against.includes(name))
  const listed = show === 'disputed' ? disputed : show === 'against' && grader ? against(grader) : items
  const current = listed[Math.min(at, listed.length - 1)]
  const settles = round.may_judge && round.closed_at === null
  const settle = () =>
    current &&
    settles &&
    void navigate({ to: '/reviews/$roundId', params: { roundId: round.id }, search: { settle: current.number } })
  const open = () =>
    current?.episode_id && void navigate({ to: '/episodes/$episodeId', params: { episodeId: current.episode_id } })
  useShortcut('j', 'Next item', () => setAt(Math.min(at + 1, listed.length - 1)), { step: true })
  useShortcut('k', 'Previous item', () => setAt(Math.max(at - 1, 0)), { step: true })
  useShortcut('Enter', 'Settle', settle)
  useShortcut('o', 'Open the sample', open)
  const choose = (next: Shown, name?: string) => {
    setAt(0)
    onShow(next, name)
  }
  return (
    <div className={styles.items}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form */}
      <div className={styles.segments} role="group" aria-label="Items">
        <Segment on={show === 'disputed'} n={disputed.length} onPress={() => choose('disputed')}>
          Disputed
        </Segment>
        {judges.map(({ pair }) => (
          <Segment
            key={pair.other}
            on={show === 'against' && grader === pair.other}
            n={against(pair.other).length}
            onPress={() => choose('against', pair.other)}
          >
            Against {pair.other}
          </Segment>
        ))}
        <Segment on={show === 'all'} n={items.length} onPress={() => choose('all')}>
          All
        </Segment>
      </div>
      <div className={styles.frame}>
        {listed.length === 0 ? (
          <p className={styles.none}>{items.length === 0 ? 'No item has all its reviews yet.' : 'None.'}</p>
        ) : (
          <PlainTable label="Items" className={styles.listed}>
            <thead>
              <tr>
                <th scope="col" data-numeric>
                  #
                </th>
                <th scope="col">Question</th>
                <th scope="col" data-minor>
                  Expected
                </th>
                <th scope="col" data-minor>
                  Given
                </th>
                <th scope="col">Verdicts</th>
                <th scope="col">
                  <span className="hidden-text">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {listed.map((item, row) => (
                <tr key={item.number} data-current={item === current || undefined} onPointerDown={() => setAt(row)}>
                  <td data-numeric>{item.number}</td>
                  <td className={styles.asked} data-full={item.question}>
                    {item.episode_id ? (
                      <Link to="/episodes/$episodeId" params={{ episodeId: item.episode_id }}>
                        {item.question}
                      </Link>
                    ) : (
                      <span dir="auto">{item.question}</span>
                    )}
                  </td>
                  <td data-minor className={styles.clipped} data-full={item.expected ?? undefined}>
                    {item.expected ?? '–'}
                  </td>
                  <td data-minor className={styles.clipped} data-full={item.given ?? undefined}>
                    {item.given ?? '–'}
                  </td>
                  <td className={styles.verdicts}>
                    {item.verdicts
                      .map((one) => `${one.author} ${answerWord(one.answer)}${one.settles ? ' (settled)' : ''}`)
                      .join(', ')}
                  </td>
                  <td data-numeric>
                    {settles && (item.disputed || item.settled) && (
                      <span>
                        <LinkButton
                          to="/reviews/$roundId"
                          params={{ roundId: round.id }}
                          search={{ settle: item.number }}
                        >
                          {item.settled ? 'Settle again' : 'Settle'}
                        </LinkButton>
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </PlainTable>
        )}
      </div>
      <p className="muted">
        κ: agreement beyond chance, 95 % interval. “Cannot tell” counts as no judgement.
        {round.blind && round.closed_at === null && ' Names of models stay hidden until the round is closed.'}
      </p>
    </div>
  )
}

interface SegmentProps {
  on: boolean
  n: number
  onPress: () => void
  children: ReactNode
}

function Segment({ on, n, onPress, children }: SegmentProps) {
  return (
    <button type="button" aria-pressed={on} onClick={onPress}>
      {children} <span className={styles.count}>{count(n)}</span>
    </button>
  )
}
