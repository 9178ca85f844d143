/** One model on the leaderboard. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { count, interval, plural } from '../format'
import { Money } from '../parts/Money'
import { Num } from '../parts/Num'
import { Tokens } from '../parts/Tokens'
import { When } from '../parts/When'
import { ModelName } from '../runs/ModelName'
import { modelWords } from '../runs/model'
import styles from './Leaderboard.module.css'
import { rankWords, type Scale } from './scale'
import { Whisker } from './Whisker'

interface EntryRowProps {
  entry: Schema<'BenchmarkEntry'>
  scale: Scale
  floor: number | null
  ceiling: number | null
  /** A phone: one column instead of many. */
  narrow: boolean
  chosen: boolean
  onToggle: () => void
}

const SUBSET = 'Scored / planned episodes: a subset of the tasks of the benchmark'

export function EntryRow(props: EntryRowProps) {
  const { entry, narrow, chosen, onToggle } = props
  const { model, agent, reference } = entry
  const { name, server } = modelWords(model)
  return (
    <tr data-chosen={chosen || undefined} data-reference={reference || undefined}>
      <td className={styles.choose}>
        <label className={styles.box}>
          <input type="checkbox" checked={chosen} onChange={onToggle} />
          <span className="hidden-text">Select {name}</span>
        </label>
      </td>
      <td className={styles.rank} data-tip={rankTitle(entry)}>
        {rankWords(entry) || <span className={styles.small}>{reference || '–'}</span>}
      </td>
      <th scope="row" className={styles.model}>
        <Link to="/runs/$runId" params={{ runId: entry.run_id }}>
          <ModelName model={model} short />
        </Link>
        <span className={styles.second} data-full={model}>
          {server !== '' && (
            <>
              <bdi>{server}</bdi>
              {' · '}
            </>
          )}
          <bdi>{agent}</bdi>
        </span>
        {entry.unranked && <span className={styles.second}>not ranked: {entry.unranked}</span>}
        {narrow && <Under {...props} />}
      </th>
      {!narrow && <Numbers {...props} />}
    </tr>
  )
}

/** On a phone: everything else below the name. */
function Under(props: EntryRowProps) {
  const { metric, tokens, cost_usd: cost, created_at: at } = props.entry
  return (
    <span className={styles.under}>
      <span>
        <strong>
          <Num value={metric.value} />
        </strong>{' '}
        <span className="muted">{interval(metric.low, metric.high, metric.weak)}</span>
      </span>
      <span className={styles.drawn}>
        <Drawn {...props} />
      </span>
      <span className={styles.small}>
        {count(metric.n_scored)}/{count(metric.n_planned)} scored{props.entry.sample && ' (subset)'},{' '}
        <Tokens value={tokens} /> tokens, <Money usd={cost} />, <When at={at} />
      </span>
    </span>
  )
}

function Numbers(props: EntryRowProps) {
  const { metric, runs, tokens, cost_usd: cost, created_at: at } = props.entry
  return (
    <>
      <td data-numeric>
        <strong>
          <Num value={metric.value} />
        </strong>
        <span className={styles.second}>{interval(metric.low, metric.high, metric.weak)}</span>
      </td>
      <td className={styles.plot}>
        <Drawn {...props} />
      </td>
      <td data-numeric data-tip={props.entry.sample ? SUBSET : 'Scored / planned episodes'}>
        {count(metric.n_scored)}/{count(metric.n_planned)}
        {props.entry.sample && <span className={styles.second}>subset</span>}
      </td>
      <td data-numeric>{count(runs)}</td>
      <td data-numeric>
        <Tokens value={tokens} />
      </td>
      <td data-numeric>
        <Money usd={cost} />
      </td>
      <td>
        <When at={at} />
      </td>
    </>
  )
}

function Drawn({ entry, scale, floor, ceiling }: EntryRowProps) {
  return <Whisker metric={entry.metric} scale={scale} floor={floor} ceiling={ceiling} reference={entry.reference} />
}

function rankTitle({ rank, rank_last: last, reference, unranked, uncompared }: Schema<'BenchmarkEntry'>): string {
  if (rank === null && reference !== '') return `Reference: the ${reference} of this benchmark`
  if (rank === null) return unranked ? `Not ranked: ${unranked}` : 'Not ranked'
  if (rank === last) return `Rank ${rank}`
  const apart = uncompared > 0 ? `; not comparable with ${plural(uncompared, 'run')} scored by different rules` : ''
  return `Tied for ranks ${rank} to ${last}: the differences are not statistically significant${apart}`
}
