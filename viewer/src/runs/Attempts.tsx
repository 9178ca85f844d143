import { Link } from '@tanstack/react-router'
import { count } from '../format'
import type { Run } from './page'

/** Which attempt at the same settings a run is; leads to its group when it belongs to one. */
export function Attempts({ run }: { run: Run }) {
  const words = `Attempt ${count(run.attempt)} with exactly these settings`
  if (run.group_id === null) {
    return (
      <span className={run.attempt > 1 ? 'number' : 'number muted'} data-tip={words}>
        {count(run.attempt)}
      </span>
    )
  }
  return (
    <Link to="/" search={{ group: [run.group_id] }} className="number" data-tip={`${words}; show its group`}>
      {count(run.attempt)}
    </Link>
  )
}
