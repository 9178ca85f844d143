/** What a run has done and spent, in one line of figures. */

import { useEffect, useState } from 'react'
import type { Schema } from '../api/types'
import { capitalized, compact, count, duration, exact, MISSING, measure, money, plural } from '../format'
import { Progress } from '../parts/Progress'
import { isGoing } from './headline'
import { pace, remember, type Sighting } from './pace'
import styles from './RunFigures.module.css'
import { isRollout, unitOf } from './results/rollout'
import { tried, troubles } from './troubles'

interface Figure {
  label: string
  value: string
  title?: string
}

export function RunFigures({ run }: { run: Schema<'RunDetail'> }) {
  const { counts } = run
  const figures = useFigures(run)
  // As "What went wrong" counts them: an episode whose grader failed has no value, though nothing failed in playing it.
  const again = tried(run)
  const failed = troubles(run.failures, run.primary).reduce((sum, { count: some }) => sum + some, 0) - again
  if (run.state === 'finished' && counts.owed === 0 && failed === 0 && again === 0) {
    return (
      <dl className={styles.line}>
        <div>
          <dt className="hidden-text">{capitalized(unitOf(run))}s</dt>
          <dd>{plural(counts.done, unitOf(run))}</dd>
        </div>
        {figures.map(({ label, value, title }) => (
          <div key={label} data-tip={title}>
            <dt>{label.toLowerCase()}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    )
  }
  return (
    <div className={styles.figures}>
      <div className={styles.progress}>
        <Progress done={Math.max(counts.done - failed, 0)} failed={failed} total={counts.planned} />
        <p className={styles.words}>
          <strong>
            {count(counts.done)} of {count(counts.planned)}
          </strong>{' '}
          done
          {failed > 0 && (
            <>
              {' · '}
              <span data-some>{plural(failed, 'error')}</span>
            </>
          )}
          {' · '}
          {count(counts.owed)} pending
          {again > 0 && `, ${count(again)} of them after an error`}
        </p>
      </div>
      <dl className={styles.list}>
        {figures.map(({ label, value, title }) => (
          <div key={label} data-tip={title}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

function useFigures(run: Schema<'RunDetail'>): Figure[] {
  const { usage, counts } = run
  const going = isGoing(run)
  const [seen, setSeen] = useState<Sighting[]>([])
  useEffect(() => {
    setSeen((before) => (going ? remember(before, { at: Date.now(), done: counts.done }) : []))
  }, [going, counts.done])
  const { perSecond, secondsLeft } = pace(seen, { done: counts.done, owed: counts.owed, duration: run.duration_s })
  // A file that was imported may tell neither times nor calls; 0 would say that there were none.
  const untold = run.kind === 'imported'
  const lasted = untold && run.duration_s === 0 ? null : run.duration_s
  const figures: Figure[] = [
    { label: going ? 'Running for' : 'Duration', value: duration(lasted), title: exact(lasted, 's') },
    { label: 'Rate', value: rate(perSecond), title: exact(perSecond, `${unitOf(run)}s per second`) },
    { label: 'Tokens', value: untold && usage.total === 0 ? MISSING : compact(usage.total), title: tokenWords(usage) },
    {
      label: 'Cost',
      value: money(usage.cost_usd),
      title:
        usage.cost_usd === null ? 'At least this much: some prices are unknown' : exact(usage.cost_usd, 'US dollars'),
    },
  ]
  // Of one question each, every episode has one step, and its score is the reward.
  if (!isRollout(run) && run.mean_steps !== 1 && run.mean_steps !== 0) {
    figures.push({ label: 'Mean reward', value: measure(run.mean_reward), title: exact(run.mean_reward) })
    figures.push({ label: 'Mean steps', value: measure(run.mean_steps), title: exact(run.mean_steps) })
  }
  if (going) figures.splice(1, 0, { label: 'Time left', value: secondsLeft === null ? '…' : duration(secondsLeft) })
  return figures
}

/** Episodes a second, a minute or an hour: whichever gives a number above 1. */
export function rate(perSecond: number | null): string {
  if (perSecond === null) return '–'
  if (perSecond >= 1) return `${measure(perSecond)}/s`
  return perSecond * 60 >= 1 ? `${measure(perSecond * 60)}/min` : `${measure(perSecond * 3600)}/h`
}

function tokenWords(usage: Schema<'UsageDocument'>): string {
  const parts = [`${count(usage.prompt)} in`, `${count(usage.completion)} out`]
  if (usage.cached > 0) parts.push(`${count(usage.cached)} cached`)
  if (usage.reasoning > 0) parts.push(`${count(usage.reasoning)} reasoning`)
  return `${parts.join(', ')}; ${count(usage.calls)} calls`
}
