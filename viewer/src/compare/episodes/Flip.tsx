/** Why one passed and the other did not: both graders' words, and what the two spent and repeated. */

import { Link } from '@tanstack/react-router'
import { type ReactNode, type Ref, useId } from 'react'
import { source } from '../../api/source'
import type { Schema } from '../../api/types'
import { count, duration, measure, money } from '../../format'
import { Key } from '../../parts/Key'
import panel from '../../parts/Panel.module.css'
import { VERDICTS } from '../../parts/Verdict'
import { Marked } from '../../renderers/Marked'
import { behaviourWords } from '../../run/wrong/words'
import styles from './episodes.module.css'
import { type EpisodePair, isOneReply } from './pair'
import { SideName } from './SideName'

interface FlipProps {
  ref: Ref<HTMLElement>
  pair: EpisodePair
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  names: [string, string]
}

export function Flip({ ref, pair, a, b, names }: FlipProps) {
  const id = useId()
  const flipped = a.verdict !== b.verdict
  const lines = linesOf(pair, a, b).filter(([, x, y]) => !(isNothing(x) && isNothing(y)))
  return (
    <section ref={ref} className={panel.panel} aria-labelledby={id} tabIndex={-1}>
      <header className={panel.head}>
        <h2 id={id}>{flipped ? 'Why it flipped' : 'Both in numbers'}</h2>
        <div className={panel.actions}>
          <Key keys="x" />
        </div>
      </header>
      <div className={`${panel.body} ${styles.flip}`}>
        <p>{pair.words}</p>
        <Why side="a" name={names[0]} episode={a} />
        <Why side="b" name={names[1]} episode={b} />
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span className="hidden-text">What</span>
              </th>
              <th scope="col">
                <SideName side="a" name={names[0]} />
              </th>
              <th scope="col">
                <SideName side="b" name={names[1]} />
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(([what, x, y]) => (
              <tr key={what}>
                <th scope="row">{what}</th>
                <td>{x}</td>
                <td>{y}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {source.live && (
          <p>
            <Link
              to="/benchmarks/$benchmarkId/tasks/$taskDigest"
              params={{ benchmarkId: a.run.benchmark, taskDigest: a.task_digest }}
            >
              This task over all models
            </Link>
          </p>
        )}
      </div>
    </section>
  )
}

function Why({ side, name, episode }: { side: 'a' | 'b'; name: string; episode: Schema<'EpisodeDetail'> }) {
  const words = [episode.why, episode.behaviour === '' ? '' : behaviourWords(episode.behaviour)].filter(Boolean)
  if (words.length === 0) return null
  return (
    <p>
      <SideName side={side} name={name} />: <Marked text={words.join(' ')} />
    </p>
  )
}

type Line = [what: string, a: ReactNode, b: ReactNode]

function linesOf(pair: EpisodePair, a: Schema<'EpisodeDetail'>, b: Schema<'EpisodeDetail'>): Line[] {
  const both = (what: string, of: (episode: Schema<'EpisodeDetail'>) => string): Line => [what, of(a), of(b)]
  return [
    both('Verdict', ({ verdict }) => (verdict === null ? '–' : VERDICTS[verdict].words)),
    both('Score', ({ score }) => measure(score)),
    ...(isOneReply(pair)
      ? []
      : [[pair.by === 'call' ? 'Calls' : 'Steps', count(pair.a.steps), count(pair.b.steps)] satisfies Line]),
    ['Actions repeated', count(pair.a.repeated), count(pair.b.repeated)],
    ['Without effect', count(pair.a.in_vain), count(pair.b.in_vain)],
    both('Tokens', ({ usage }) => count(usage.total)),
    both('Cost', ({ usage }) => (usage.cost_usd ? money(usage.cost_usd) : '0')),
    both('Duration', ({ duration_s }) => duration(duration_s)),
    both('Retries', ({ retries }) => count(retries)),
    both('Seed', ({ seed }) => (a.seed === b.seed ? '0' : (seed ?? '–'))),
  ]
}

function isNothing(value: ReactNode): boolean {
  return value === '0' || value === '–'
}
