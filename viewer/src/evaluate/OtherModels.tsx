import { useQueries } from '@tanstack/react-query'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { Panel } from '../parts/Panel'
import panels from '../parts/panels.module.css'
import { costWords } from './EstimatePanel'
import { useSettled } from './useEstimate'

/** What the runs of further models would cost, or why they would be refused. */
export function OtherModels({ wanted }: { wanted: readonly Schema<'RolloutInput'>[] }) {
  const settled = JSON.parse(useSettled(JSON.stringify(wanted))) as Schema<'RolloutInput'>[]
  const estimates = useQueries({
    queries: settled.map((body) => ({
      queryKey: ['/api/runs/estimate', JSON.stringify(body)],
      queryFn: ({ signal }: { signal: AbortSignal }) => post('/api/runs/estimate', { body, signal }),
      retry: false,
    })),
  })
  return (
    <Panel title="Further models">
      <dl className={panels.terms} aria-live="polite">
        {settled.map((body, place) => {
          const { data, error } = estimates[place] ?? {}
          const model = String(body.assignments?.['experiment.model_path'])
          return (
            <div key={model} className={panels.pair}>
              <dt>
                <bdi>{model}</bdi>
              </dt>
              <dd className="number">{error ? error.message : data ? costWords(data) : '…'}</dd>
            </div>
          )
        })}
      </dl>
    </Panel>
  )
}
