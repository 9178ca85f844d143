import { address } from '../api/address'
import button from '../parts/LinkButton.module.css'
import styles from './SessionPage.module.css'

/** Sign in at another provider; it leads back to the page that one came from. */
export function OtherWay({ name, next }: { name: string; next: string }) {
  return (
    <div className={styles.other}>
      <div className={styles.or}>or</div>
      <a className={button.link} href={address('/api/auth/oidc/start', {}, { next })}>
        Sign in with {name}
      </a>
    </div>
  )
}
