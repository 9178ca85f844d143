import { Link } from '@tanstack/react-router'
import panels from '../parts/panels.module.css'
import type { Submitted } from './runs'

/** What an earlier try started and did not. */
export function StartedBefore({ before: { runs, refused } }: { before: Submitted }) {
  if (refused.length === 0) return null
  return (
    <div role="alert" className={panels.wrong}>
      {runs.length > 0 && (
        <p>
          Started:{' '}
          {runs.map(({ model, id }, place) => (
            <span key={id}>
              {place > 0 && ', '}
              <Link to="/runs/$runId" params={{ runId: id }}>
                {model || 'the run'}
              </Link>
            </span>
          ))}
        </p>
      )}
      {refused.map(({ model, why }) => (
        <p key={model}>
          <strong>{model || 'The run'}</strong> was not started: {why}
        </p>
      ))}
    </div>
  )
}
