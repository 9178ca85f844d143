/** One model on the leaderboard. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/paths'
import { count, interval } from '../format'
import { Money } from '../parts/Money'
import { Num } from '../parts/Num'
import { Tokens } from '../parts/Tokens'
import { When } from '../parts/When'
import { modelWords } from '../runs/model'
import styles from './Leaderboard.module.css'
import { rankWords, type Scale } from './scale'
import { Whisker } from './Whisker'

interface EntryRowProps {
  entry: Schema<'Entry'>
  scale: Scale
  floor: number | null
  ceiling: number | null
  chosen: boolean
  onToggle: () => void
}

export function EntryRow({ entry, scale, floor, ceiling, chosen, onToggle }: EntryRowProps) {
  const { metric, model, agent, reference } = entry
  const { name, server } = modelWords(model)
  return (
    <tr data-chosen={chosen || undefined} data-reference={reference || undefined}>
      <td>
        <label className={styles.box}>
          <input type="checkbox" checked={chosen} onChange={onToggle} />
          <span className="hidden-text">Choose {name}</span>
        </label>
      </td>
      <td className={styles.rank} title={rankTitle(entry)}>
        {rankWords(entry) || <span className="muted">{reference || '–'}</span>}
      </td>
      <th scope="row" className={styles.model} title={model}>
        <Link to="/runs/$runId" params={{ runId: entry.run_id }}>
          <bdi>{name}</bdi>
        </Link>
        <span className={styles.second}>
          {server !== '' && (
            <>
              <bdi>{server}</bdi>
              {' · '}
            </>
          )}
          <bdi>{agent}</bdi>
        </span>
      </th>
      <td className={styles.number}>
        <strong>
          <Num value={metric.value} />
        </strong>
        <span className={styles.second}>{interval(metric.low, metric.high)}</span>
      </td>
      <td className={styles.plot}>
        <Whisker metric={metric} scale={scale} floor={floor} ceiling={ceiling} reference={reference} />
      </td>
      <td className={styles.number} title="scored of planned episodes">
        {count(metric.n_scored)}/{count(metric.n_planned)}
      </td>
      <td className={styles.number}>{count(entry.runs)}</td>
      <td className={styles.number}>
        <Tokens value={entry.tokens} />
      </td>
      <td className={styles.number}>
        <Money usd={entry.cost_usd} />
      </td>
      <td>
        <When at={entry.created_at} />
      </td>
    </tr>
  )
}

function rankTitle({ rank, rank_last: last, reference }: Schema<'Entry'>): string {
  if (rank === null) return reference === '' ? 'No place' : `A reference: the ${reference} of this benchmark`
  return rank === last ? `Place ${rank}` : `Somewhere from place ${rank} to ${last}: the differences could be chance`
}
