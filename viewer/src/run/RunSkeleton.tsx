/** The outline of the Run page while its run is on its way. */

import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { Skeleton } from '../parts/Skeleton'
import styles from './RunView.module.css'

export function RunSkeleton() {
  return (
    <Page title="Run" heading={<Skeleton width="16rem" />} note={<Skeleton width="24rem" />}>
      <Skeleton height="2.75rem" />
      <div className={styles.summary}>
        {['score', 'trouble', 'distribution'].map((part) => (
          <Panel key={part}>
            <Skeleton height="9rem" />
          </Panel>
        ))}
      </div>
      <Skeleton height="24rem" />
    </Page>
  )
}
