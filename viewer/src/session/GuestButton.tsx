import { useMutation } from '@tanstack/react-query'
import { post } from '../api/client'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { openPage } from './next'
import styles from './SessionPage.module.css'

/** Go on without an account: a few runs a day, kept for as long as the browser keeps the cookie. */
export function GuestButton({ next }: { next: string }) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post('/api/auth/guest'),
    onSuccess: () => openPage(next),
  })
  return (
    <div className={styles.other}>
      <div className={styles.or}>or</div>
      <Button busy={isPending} onClick={() => mutate()}>
        Continue as a guest
      </Button>
      <span className={styles.note}>Guests can start a few runs per day. This browser remembers them for a week.</span>
      {error && <Failure error={error} title="The guest session could not be started" />}
    </div>
  )
}
