import { interval, measure, plural } from '../format'
import styles from './CompareBenchmark.module.css'
import type { Label } from './CompareLabels'
import { basisWords, type Direction, leaderOf, leadOf, leadWords, type Pair, pWords } from './CompareVerdict'
import { CompareWho } from './CompareWho'

/** One pair of runs. */
interface CompareHeadlineProps {
  pair: Pair
  labels: ReadonlyMap<string, Label>
  direction: Direction
}

/** What a comparison says, in a sentence. */
export function CompareHeadline({ pair, labels, direction }: CompareHeadlineProps) {
  const a = <CompareWho label={labels.get(pair.a)} />
  const b = <CompareWho label={labels.get(pair.b)} />
  const lead = leadOf(pair)
  const { ahead } = leadWords(direction)
  const numbers = (
    <strong className="number" data-tip={`${lead.amount}\n${lead.low} to ${lead.high}`}>
      {measure(lead.amount)} {interval(lead.low, lead.high, lead.weak)}
    </strong>
  )
  const basis = `${pWords(pair.p_adjusted)}, ${basisWords(pair)}`
  if (pair.winner !== 'tie') {
    return (
      <p className={styles.headline}>
        {pair.winner === 'b' ? b : a} is {ahead} than {pair.winner === 'b' ? a : b} by {numbers}
        <span className={styles.basis}>
          , {basis}.<Shares pair={pair} labels={labels} />
        </span>
      </p>
    )
  }
  const leader = leaderOf(pair, direction)
  return (
    <p className={styles.headline}>
      Tie:{' '}
      {leader === null ? (
        <>
          {a} and {b} have the same score
          {pair.paired && partly(pair) ? ` on ${plural(pair.n_a, 'task')} that both runs scored` : ''}
        </>
      ) : (
        <>
          {leader === 'b' ? b : a} scored {ahead} than {leader === 'b' ? a : b} by {numbers}, but the difference is not
          significant
        </>
      )}
      <span className={styles.basis}>
        , {basis}. {couldHaveShown(pair)}
        <Shares pair={pair} labels={labels} />
      </span>
    </p>
  )
}

/** Whether a run scored tasks that the other one did not: these are in its score, but not in the difference. */
function partly({ counts }: Pair): boolean {
  return counts.only_a + counts.only_b > 0
}

function Shares({ pair, labels }: Omit<CompareHeadlineProps, 'direction'>) {
  if (!pair.paired || !partly(pair)) return null
  const { only_a: a, only_b: b } = pair.counts
  return (
    <>
      {' '}
      On these tasks, the means are {measure(pair.mean_a)} and {measure(pair.mean_b)}. The overall scores also include{' '}
      {[alone(a, labels.get(pair.a)), alone(b, labels.get(pair.b))].filter(Boolean).join(' and ')}.
    </>
  )
}

function couldHaveShown(pair: Pair): string {
  if (pair.smallest_difference === null) return ''
  const n = pair.paired ? `${pair.n_a} tasks` : 'This many tasks'
  return `${n} can detect a difference of ${measure(pair.smallest_difference)}.`
}

function alone(tasks: number, label: Label | undefined): string {
  return tasks === 0 ? '' : `${plural(tasks, 'task')} scored only by ${label?.letter ?? 'one'}`
}
