/** One row of the alignment: what both did there, and the state of both after it. */

import type { Schema } from '../../api/types'
import type { Frame } from '../../episode/frame'
import { Reasoning } from '../../episode/Reasoning'
import { count, signed } from '../../format'
import { Button } from '../../parts/Button'
import { IconButton } from '../../parts/IconButton'
import { Key } from '../../parts/Key'
import { Num } from '../../parts/Num'
import { Panel } from '../../parts/Panel'
import { Skeleton } from '../../parts/Skeleton'
import { FailureView } from '../../renderers/FailureView'
import { Differing } from './Differing'
import styles from './episodes.module.css'
import {
  CHANGES,
  type EpisodePair,
  firstRow,
  isOneReply,
  isOver,
  moveAt,
  nextDifference,
  rowTitle,
  type Side,
} from './pair'
import { SideName } from './SideName'
import { State } from './State'
import { actionText } from './state'
import { useMove } from './useMove'

interface StepPanelProps {
  pair: EpisodePair
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  names: [string, string]
  row: number
  onRow: (row: number) => void
}

export function StepPanel({ pair, a, b, names, row, onRow }: StepPanelProps) {
  const step = pair.steps[row]
  const [left, right] = [moveAt(pair, row, 'a'), moveAt(pair, row, 'b')]
  const frameA = useMove(a, left.move, pair.by)
  const frameB = useMove(b, right.move, pair.by)
  if (step === undefined) return null
  const first = pair.finding !== 'same' && row === firstRow(pair)
  const next = nextDifference(pair.steps, row, 1)
  const before = nextDifference(pair.steps, row, -1)
  const title = isOneReply(pair) && row === 1 ? 'Replies' : rowTitle(pair, step)
  return (
    <Panel
      title={first && pair.steps.length > 2 ? `${title}, first difference` : title}
      note={first ? pair.words.replace(/^(Step|Call) \d+: /, '') : CHANGES[step.change].words}
      actions={
        pair.steps.length > 2 && (
          <>
            <IconButton
              icon="chevronLeft"
              label="Previous difference"
              disabled={before === null}
              onClick={() => before !== null && onRow(before)}
            />
            <Button disabled={next === null} onClick={() => next !== null && onRow(next)}>
              Next difference <Key keys="d" />
            </Button>
          </>
        )
      }
      flush
    >
      <div className={styles.sides}>
        <One side="a" name={names[0]} at={left} frame={frameA} other={frameB} pair={pair} row={row} />
        <One side="b" name={names[1]} at={right} frame={frameB} other={frameA} pair={pair} row={row} />
      </div>
    </Panel>
  )
}

interface OneProps {
  side: Side
  name: string
  at: ReturnType<typeof moveAt>
  frame: Frame | null
  other: Frame | null
  pair: EpisodePair
  row: number
}

function One({ side, name, at: { move, here }, frame, other, pair, row }: OneProps) {
  return (
    <section className={styles.side} aria-label={`Episode ${side.toUpperCase()}`}>
      <h3>
        <SideName side={side} name={name} />
      </h3>
      {!here && (
        <p className={styles.gap}>
          {isOver(pair.steps, row, side)
            ? `Ended before${move === null ? '' : `: its last state, after step ${count(move.number)}`}.`
            : `Nothing to hold against it; it stands where it was after step ${count(move?.number ?? 0)}.`}
        </p>
      )}
      {move !== null && frame === null && <Skeleton height="8rem" />}
      {frame !== null && (
        <>
          {here && <Done side={side} frame={frame} other={other} pair={pair} start={move?.number === 0} />}
          {(frame.after !== null || (!isOneReply(pair) && pair.by === 'step')) && frame.after?.data !== null && (
            <>
              <h4>
                {move?.number === 0 ? 'State at first' : pair.by === 'call' ? 'What came back' : 'State after it'}
              </h4>
              <State side={side} own={frame.after} other={other?.after ?? null} />
            </>
          )}
          {here && frame.reward !== null && frame.reward !== 0 && (
            <p className="muted">
              reward <Num value={frame.reward} form={signed} />
            </p>
          )}
          {here && frame.failure && <FailureView failure={frame.failure} />}
        </>
      )}
    </section>
  )
}

interface DoneProps {
  side: Side
  frame: Frame
  other: Frame | null
  pair: EpisodePair
  start: boolean
}

/** What was done, and thought before it. */
function Done({ side, frame, other, pair, start }: DoneProps) {
  if (start && frame.actions.length === 0) return null
  const text = actionOf(frame)
  return (
    <>
      <h4>{isOneReply(pair) || pair.by === 'call' ? 'Reply' : 'Action'}</h4>
      <Differing
        side={side}
        text={text}
        other={other === null ? undefined : actionOf(other)}
        mono={!/\s\S+\s/.test(text)}
      />
      {frame.reasoning !== '' && <Reasoning text={frame.reasoning} highlight="" />}
    </>
  )
}

function actionOf(frame: Frame): string {
  if (frame.actions.length === 0) return frame.said
  return frame.actions.map(({ action, role }) => (role === '' ? '' : `${role}: `) + actionText(action)).join('\n')
}
