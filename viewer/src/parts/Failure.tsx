import { ApiError } from '../api/error'
import { sentence } from '../format'
import { place } from '../place'
import { Button } from './Button'
import { ComeBack } from './ComeBack'
import styles from './Failure.module.css'
import { Icon } from './Icon'

/** What went wrong and what can be done. */
interface FailureProps {
  error: unknown
  /** What was tried, as a sentence start: "The runs could not be read". */
  title?: string
  onRetry?: () => void
}

/** An error in the place of what it kept from being shown. */
export function Failure({ error, title = 'Something went wrong', onRetry }: FailureProps) {
  return (
    <div className={styles.failure} role="alert">
      <Icon name="error" />
      <div className={styles.words}>
        <strong>{title}</strong>
        <p>{sentence(error instanceof Error ? error.message : String(error))}</p>
        {advice(error) && <p className={styles.advice}>{advice(error)}</p>}
        {asksWho(error) && <ComeBack expired={error instanceof ApiError && error.status === 401} />}
        {onRetry && (
          <Button icon="refresh" onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  )
}

/** Whether signing in as another user may help: what a user may not see is answered with 404. */
function asksWho(error: unknown): boolean {
  return place.mode === 'server' && error instanceof ApiError && [401, 403, 404].includes(error.status)
}

function advice(error: unknown): string {
  if (!(error instanceof ApiError)) return ''
  if (place.mode === 'server') return serverAdvice(error)
  if (error.status === 0) return 'Start it again with `mesocosm view`. This page reconnects automatically.'
  if (error.status === 404) return 'It may have been deleted, or the URL is incomplete.'
  if (error.status === 409) return 'The run is in use by another process; wait for it or stop it first.'
  return error.status >= 500 ? 'See the terminal of the server for details.' : ''
}

function serverAdvice({ status }: ApiError): string {
  if (status === 0) return 'This page reconnects automatically when the server is back.'
  return status >= 500 ? 'Try again in a moment. If the problem persists, contact an administrator of this server.' : ''
}
