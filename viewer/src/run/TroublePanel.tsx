/** Failures, by cause: a click filters the episodes, the example leads to the first one. */

import { useState } from 'react'
import type { Schema } from '../api/types'
import { causeWords } from '../cause'
import { count, plural } from '../format'
import { Button } from '../parts/Button'
import { Panel } from '../parts/Panel'
import { EpisodeLink } from './EpisodeLink'
import { gist } from './gist'
import { filterOfCause, unitOf } from './results/rollout'
import styles from './TroublePanel.module.css'
import { type Trouble, tried, troubles, withoutTrouble } from './troubles'

interface TroublePanelProps {
  run: Schema<'RunDetail'>
  /** Causes that the table is filtered by. */
  chosen: readonly string[]
  onChoose: (cause: string) => void
}

const SHOWN = 4

const EFFECTS = { worst: 'counts as worst', missing: 'excluded', open: 'still pending' }

export function TroublePanel({ run, chosen, onChoose }: TroublePanelProps) {
  const [all, setAll] = useState(false)
  const again = tried(run)
  const found = troubles(run.failures, run.primary, run.ungraded).map((trouble) =>
    // Nothing counts of what is pending: here no failure is of a finished episode.
    again > 0 && run.counts.failed === 0 && run.failures.some(({ cause }) => cause === trouble.cause)
      ? { ...trouble, effect: 'open' as const }
      : trouble,
  )
  const total = found.reduce((sum, { count: some }) => sum + some, 0)
  const shown = all ? found : found.slice(0, SHOWN)
  return (
    <Panel
      title={found.some(({ effect }) => effect === 'worst') ? 'Failures' : 'Errors'}
      note={total > 0 ? `${count(total)} of ${plural(run.counts.done + again, unitOf(run))}` : undefined}
    >
      {found.length === 0 && <Nothing run={run} />}
      <ul className={styles.list} data-few={found.length <= 2 || undefined}>
        {shown.map((trouble) => (
          <TroubleRow
            key={trouble.cause}
            run={run}
            trouble={trouble}
            chosen={chosen.includes(trouble.cause)}
            onChoose={onChoose}
          />
        ))}
      </ul>
      {found.length > SHOWN && (
        <Button look="quiet" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Fewer causes' : plural(found.length - SHOWN, 'more cause', 'more causes')}
        </Button>
      )}
    </Panel>
  )
}

function Nothing({ run }: { run: Schema<'RunDetail'> }) {
  return <p className="muted">{withoutTrouble(run)}</p>
}

interface TroubleRowProps {
  run: Schema<'RunDetail'>
  trouble: Trouble
  chosen: boolean
  onChoose: (cause: string) => void
}

function TroubleRow({ run, trouble, chosen, onChoose }: TroubleRowProps) {
  const { cause, count: some, effect, example } = trouble
  const { name, title, advice } = causeWords(cause)
  const why = advice === '' ? '' : `${title}. ${advice}`
  return (
    <li className={styles.trouble}>
      <button
        type="button"
        className={styles.cause}
        aria-pressed={chosen}
        onClick={() => onChoose(cause)}
        data-tip={`${why} Click to show these episodes.`.trim()}
      >
        <span className={styles.count}>{count(some)}</span> <span className={styles.title}>{name}</span>{' '}
        <span className={styles.effect} data-effect={effect}>
          {EFFECTS[effect]}
        </span>
      </button>
      {example === undefined ? (
        <p className={styles.example}>{why}</p>
      ) : (
        <p className={styles.example} data-tip={example.message.slice(0, 1_000)}>
          <EpisodeLink id={example.episode} filter={filterOfCause(run, cause)}>
            {example.task}
          </EpisodeLink>{' '}
          {gist(example.message, 400) || why}
        </p>
      )}
    </li>
  )
}
