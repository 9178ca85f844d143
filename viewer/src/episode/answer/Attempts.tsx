/** The same task in all runs: other models, other trials, and what they answered. */

import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useDocument } from '../../api/query'
import type { Schema } from '../../api/types'
import { count, measure, plural } from '../../format'
import { Button } from '../../parts/Button'
import { Panel } from '../../parts/Panel'
import { Verdict } from '../../parts/Verdict'
import { Marked } from '../../renderers/Marked'
import { ModelName } from '../../runs/ModelName'
import styles from './answer.module.css'

const SHOWN = 8

export function Attempts({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  const [all, setAll] = useState(false)
  const { data } = useDocument('/api/episodes/{episode_id}/attempts', { params: { episode_id: episode.id } })
  if (data === undefined || data.items.length < 2) return null
  const shown = all ? data.items : data.items.slice(0, SHOWN)
  return (
    <Panel
      title="This task, all runs"
      note={attemptWords(data)}
      actions={
        <Link
          to="/benchmarks/$benchmarkId/tasks/$taskDigest"
          params={{ benchmarkId: episode.run.benchmark, taskDigest: episode.task_digest }}
        >
          Open the task
        </Link>
      }
      flush
    >
      <table className={`${styles.steps} ${styles.attempts}`}>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Verdict</th>
            <th scope="col">Given</th>
            <th scope="col">Why</th>
            <th scope="col">
              <span className="hidden-text">Compare</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((one) => (
            <tr key={one.episode_id} data-first={one.episode_id === episode.id || undefined}>
              <th scope="row" data-full={one.run_name || one.run_id}>
                <Link to="/episodes/$episodeId" params={{ episodeId: one.episode_id }}>
                  <ModelName model={one.model} />
                </Link>
                {one.trial > 0 && <span className="muted"> trial {one.trial + 1}</span>}
              </th>
              <td>{one.verdict === null ? measure(one.score) : <Verdict name={one.verdict} />}</td>
              <td data-full={one.given}>
                <Marked text={one.given.slice(0, 120)} />
              </td>
              <td data-full={one.why}>
                <Marked text={one.why} />
              </td>
              <td>
                {one.episode_id !== episode.id && (
                  <Link to="/compare/episodes" search={{ a: episode.id, b: one.episode_id }}>
                    Compare
                  </Link>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {data.items.length > SHOWN && (
        <Button look="quiet" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Fewer' : plural(data.items.length - SHOWN, 'more attempt')}
        </Button>
      )}
    </Panel>
  )
}

/** How many passed, and what that says of the task. */
export function attemptWords({ passed, judged, whole }: Omit<Schema<'TaskAttempts'>, 'items'>): string {
  if (judged === 0) return ''
  const share = `${count(passed)} of ${count(judged)} passed${whole ? '' : ', in the newest 50 runs'}`
  if (judged < 3) return share
  if (passed === judged) return `${share}: it tells no models apart`
  return passed === 0 ? `${share}: too hard, or its right answer is wrong` : share
}
