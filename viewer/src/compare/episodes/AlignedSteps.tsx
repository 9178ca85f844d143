/** All steps of both episodes, aligned; only those in sight are drawn. */

import { useEffect, useMemo, useRef, useState } from 'react'
import type { Schema } from '../../api/types'
import { count, money, signed } from '../../format'
import { Icon } from '../../parts/Icon'
import { Key } from '../../parts/Key'
import { Panel } from '../../parts/Panel'
import { TextButton } from '../../parts/TextButton'
import { reveal, view } from '../../parts/windowing'
import { Marked } from '../../renderers/Marked'
import styles from './episodes.module.css'
import { type AlignedStep, CHANGES, type EpisodePair, isOver, type Move, rowsShown, type Side } from './pair'
import { SideName } from './SideName'

const ROW = 32
const MOST_HEIGHT = 640

interface AlignedStepsProps {
  pair: EpisodePair
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  names: [string, string]
  row: number
  only: boolean
  onRow: (row: number) => void
  onOnly: (only: boolean) => void
}

export function AlignedSteps({ pair, a, b, names, row, only, onRow, onOnly }: AlignedStepsProps) {
  const box = useRef<HTMLElement>(null)
  const [top, setTop] = useState(0)
  const rows = useMemo(() => rowsShown(pair.steps, only), [pair.steps, only])
  const height = Math.min(rows.length * ROW, MOST_HEIGHT)
  const shown = view(rows.length, ROW, top, height)
  const place = rows.indexOf(row)
  useEffect(() => {
    const element = box.current
    if (element && place >= 0) element.scrollTop = reveal(place, rows.length, ROW, element.scrollTop, height)
  }, [place, rows.length, height])
  const differ = pair.steps.filter(({ change }) => change !== 'same').length
  return (
    <Panel
      title={pair.by === 'call' ? 'All calls' : 'All steps'}
      note={`${count(differ)} of ${count(pair.steps.length)} differ${pair.whole ? '' : '; only the first 5,000 steps are compared'}`}
      actions={
        <TextButton aria-pressed={only} onClick={() => onOnly(!only)}>
          {only ? 'All steps' : 'Only differences'} <Key keys="o" />
        </TextButton>
      }
      flush
    >
      <p className={styles.stepsHead}>
        <span>{pair.by === 'call' ? 'Call' : 'Step'}</span>
        <Spent side="a" name={names[0]} episode={a} steps={pair.a.steps} by={pair.by} />
        <span />
        <Spent side="b" name={names[1]} episode={b} steps={pair.b.steps} by={pair.by} />
      </p>
      <section
        ref={box}
        className={styles.list}
        style={{ height }}
        onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
        aria-label="Steps of both episodes"
      >
        <div style={{ height: shown.height, position: 'relative' }}>
          <div style={{ position: 'absolute', insetInline: 0, top: shown.offset }}>
            {rows.slice(shown.first, shown.last + 1).map((at) => {
              const step = pair.steps[at]
              if (step === undefined) return null
              return (
                <Row
                  key={at}
                  step={step}
                  current={at === row}
                  overA={step.a === null && isOver(pair.steps, at, 'a')}
                  overB={step.b === null && isOver(pair.steps, at, 'b')}
                  onOpen={() => onRow(at)}
                />
              )
            })}
          </div>
        </div>
      </section>
    </Panel>
  )
}

interface SpentProps {
  side: Side
  name: string
  episode: Schema<'EpisodeDetail'>
  steps: number
  by: EpisodePair['by']
}

function Spent({ side, name, episode: { usage }, steps, by }: SpentProps) {
  const parts = [
    `${count(steps)} ${by}${steps === 1 ? '' : 's'}`,
    ...(usage.total > 0 ? [`${count(usage.total)} tokens`] : []),
    ...(usage.cost_usd ? [money(usage.cost_usd)] : []),
  ]
  return (
    <span className={styles.spent}>
      <SideName side={side} name={name} /> <span>{parts.join(', ')}</span>
    </span>
  )
}

interface RowProps {
  step: AlignedStep
  current: boolean
  overA: boolean
  overB: boolean
  onOpen: () => void
}

function Row({ step: { a, b, change }, current, overA, overB, onOpen }: RowProps) {
  const number = a?.number ?? b?.number ?? 0
  const { sign, words } = CHANGES[change]
  return (
    <button
      type="button"
      className={styles.step}
      aria-current={current ? 'step' : undefined}
      data-change={change}
      onClick={onOpen}
    >
      <span className={styles.number}>
        {number === 0 ? 'Start' : count(number)}
        {a !== null && b !== null && a.number !== b.number && <span className="muted"> / {count(b.number)}</span>}
      </span>
      <Did move={a} over={overA} />
      <span className={styles.sign} data-tip={words}>
        <span aria-hidden="true">{sign}</span>
        <span className="hidden-text">{words}</span>
      </span>
      <Did move={b} over={overB} />
    </button>
  )
}

function Did({ move, over }: { move: Move | null; over: boolean }) {
  if (move === null) return <span className={`${styles.did} muted`}>{over ? 'ended' : '–'}</span>
  return (
    <span className={styles.did} data-tip={move.action.slice(0, 400)}>
      {move.failure !== '' && <Icon name="warning" size={13} />}
      {move.action !== '' ? (
        <Marked text={move.action} />
      ) : move.number === 0 ? (
        ''
      ) : (
        <span className="muted">no action</span>
      )}
      {move.reward !== null && move.reward !== 0 && <span className="muted"> {signed(move.reward)}</span>}
    </span>
  )
}
