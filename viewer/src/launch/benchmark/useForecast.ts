/** What runs of a benchmark would come to, asked again when the form has rested for a moment. */
import { useQuery } from '@tanstack/react-query'
import { post } from '../../api/client'
import type { Schema } from '../../api/types'
import { useSettled } from '../../evaluate/useEstimate'

/** Ask the server; nothing is asked without runs. */
export function useForecast(runs: readonly Schema<'BenchmarkInput'>[]) {
  const settled = useSettled(runs.length === 0 ? '' : JSON.stringify({ runs }))
  return useQuery<Schema<'Forecast'>>({
    queryKey: ['/api/runs/forecast', settled],
    queryFn: ({ signal }) =>
      post('/api/runs/forecast', { body: JSON.parse(settled) as Schema<'ForecastInput'>, signal }),
    enabled: settled !== '',
    retry: false,
    placeholderData: (before) => before,
  })
}
