/** What both episodes showed when they ended. */

import type { Schema } from '../../api/types'
import { Panel } from '../../parts/Panel'
import styles from './episodes.module.css'
import { type EpisodePair, lastMove } from './pair'
import { SideName } from './SideName'
import { State } from './State'
import { useMove } from './useMove'

interface EndStatesProps {
  pair: EpisodePair
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  names: [string, string]
}

export function EndStates({ pair, a, b, names }: EndStatesProps) {
  const left = useMove(a, lastMove(pair, 'a'), pair.by)?.after ?? null
  const right = useMove(b, lastMove(pair, 'b'), pair.by)?.after ?? null
  const shown = [left, right].some((state) => state !== null && state.data !== null && state.data !== undefined)
  if (!shown || pair.by === 'call' || pair.steps.length <= 2) return null
  return (
    <Panel title="At the end" note="the last state of both">
      <div className={styles.ends}>
        <section aria-label="State of A at the end">
          <h3>
            <SideName side="a" name={names[0]} />
          </h3>
          <State side="a" own={left} other={right} />
        </section>
        <section aria-label="State of B at the end">
          <h3>
            <SideName side="b" name={names[1]} />
          </h3>
          <State side="b" own={right} other={left} />
        </section>
      </div>
    </Panel>
  )
}
