import { useRouter } from '@tanstack/react-router'
import { duration, exactTime } from '../format'
import { CopyButton } from '../parts/CopyButton'
import styles from './timeline.module.css'

interface StepHeadProps {
  episodeId: string
  step: number
  /** UNIX time of its first event. */
  at: number
  start: string | null
  /** Whether the episode can be played again up to here. */
  forks: boolean
}

/** Where a step begins: its number, when it was, a link to it. */
export function StepHead({ episodeId, step, at, start, forks }: StepHeadProps) {
  const router = useRouter()
  const place = router.buildLocation({ to: '/episodes/$episodeId', params: { episodeId }, search: { step } })
  const since = start ? at - Date.parse(start) / 1000 : null
  return (
    <h2 className={styles.step}>
      <span>{step === 0 ? 'Before the first action' : `Step ${step}`}</span>
      {since !== null && (
        <span className={styles.since} data-tip={exactTime(new Date(at * 1000).toISOString())}>
          {duration(Math.max(since, 0))}
        </span>
      )}
      <CopyButton
        text={new URL(router.history.createHref(place.href), window.location.href).href}
        label="Copy the link to this step"
      />
      {forks && step > 0 && (
        <CopyButton
          look="words"
          text={`mesocosm run fork ${episodeId} --at ${step} -m MODEL`}
          label="Copy the command to fork here"
        />
      )}
    </h2>
  )
}
