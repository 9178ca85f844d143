import type { UseQueryResult } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import styles from '../parts/panels.module.css'
import { EstimatePanel } from './EstimatePanel'
import { OtherModels } from './OtherModels'
import { PreviewRows } from './PreviewRows'

interface EvaluateSideProps {
  /** Whether all that is needed is chosen. */
  ready: boolean
  estimate: UseQueryResult<Schema<'RunEstimate'>>
  /** The same with each of the further models. */
  others: readonly Schema<'RolloutInput'>[]
}

/** What the evaluation would come to, and its first rows. */
export function EvaluateSide({ ready, estimate, others }: EvaluateSideProps) {
  const found = ready && !estimate.error ? estimate.data : undefined
  return (
    <div className={styles.stack}>
      <EstimatePanel estimate={estimate} ready={ready} />
      {others.length > 0 && <OtherModels wanted={others} />}
      {found !== undefined && found.preview.length > 0 && <PreviewRows estimate={found} />}
    </div>
  )
}
