import type { UseQueryResult } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import styles from '../parts/panels.module.css'
import { EstimatePanel } from './EstimatePanel'
import { PreviewRows } from './PreviewRows'

interface EvaluateSideProps {
  /** Whether all that is needed is chosen. */
  ready: boolean
  estimate: UseQueryResult<Schema<'RunEstimate'>>
}

/** What the evaluation would come to, and its first rows. */
export function EvaluateSide({ ready, estimate }: EvaluateSideProps) {
  const found = ready && !estimate.error ? estimate.data : undefined
  return (
    <div className={styles.stack}>
      <EstimatePanel estimate={estimate} ready={ready} />
      {found !== undefined && found.preview.length > 0 && <PreviewRows estimate={found} />}
    </div>
  )
}
