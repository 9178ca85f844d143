/** The history of a benchmark: every finished run over time, one model followed. */

import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Schema } from '../api/types'
import { count, plural } from '../format'
import { Panel } from '../parts/Panel'
import { Select } from '../parts/Select'
import { modelText } from '../runs/model'
import { HistoryChart } from './HistoryChart'
import { historyLines } from './history'

interface HistoryPanelProps {
  benchmark: Schema<'BenchmarkDetail'>
  model: string | undefined
  onModel: (model: string | undefined) => void
}

export function HistoryPanel({ benchmark, model, onModel }: HistoryPanelProps) {
  const navigate = useNavigate()
  const lines = useMemo(() => historyLines(benchmark.history), [benchmark.history])
  if (lines.length === 0) return null
  const followed = lines.find((line) => line.model === model) ?? (model === undefined ? lines[0] : undefined)
  const models = [...new Set(lines.map((line) => line.model))]
  return (
    <Panel
      title="History"
      note={noteWords(benchmark)}
      actions={
        <Select
          label="Model"
          options={models.map((value) => ({ value, label: modelText(value) }))}
          value={followed?.model ?? ''}
          onChange={(value) => onModel(value === lines[0]?.model ? undefined : value)}
        />
      }
    >
      <HistoryChart
        digest={benchmark.digest}
        metric={benchmark.metric ?? 'score'}
        lines={lines}
        followed={followed?.key}
        onOpen={(runId) => void navigate({ to: '/runs/$runId', params: { runId } })}
      />
    </Panel>
  )
}

function noteWords({ history, digest }: Schema<'BenchmarkDetail'>): string {
  const older = history.filter((reading) => reading.benchmark_digest !== digest).length
  const runs = plural(history.length, 'finished run')
  return older === 0 ? runs : `${runs}, ${count(older)} of them on older content (hollow points)`
}
