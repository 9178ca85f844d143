import styles from './Page.module.css'
import { Skeleton } from './Skeleton'

/** The outline of a page whose code is on its way. */
export function PageSkeleton() {
  return (
    <div className={styles.page} aria-busy="true">
      <Skeleton width="14rem" height="1.75rem" />
      <Skeleton height="2rem" />
      <Skeleton height="20rem" />
    </div>
  )
}
