import { Link } from '@tanstack/react-router'
import panels from '../../parts/panels.module.css'
import type { Submitted } from './draft'

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
                {model}
              </Link>
            </span>
          ))}
        </p>
      )}
      {refused.map(({ model, why }) => (
        <p key={model}>
          <strong>{model}</strong> was not started: {why}
        </p>
      ))}
    </div>
  )
}
