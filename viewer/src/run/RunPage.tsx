/** The Run page: how good, how far, what went wrong, and every episode. */

import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { RunSkeleton } from './RunSkeleton'
import { RunView } from './RunView'
import { useRun } from './useRun'

export function RunPage() {
  const { runId } = useParams({ from: '/runs/$runId' })
  const [expecting, setExpecting] = useState('')
  const { data: run, error, refetch } = useRun(runId, expecting === runId)
  if (run !== undefined) return <RunView key={run.id} run={run} onStarted={() => setExpecting(runId)} />
  if (error === null) return <RunSkeleton />
  return (
    <Page title="Run" trail={<Link to="/">Runs</Link>}>
      <Failure error={error} title="This run could not be loaded" onRetry={() => void refetch()} />
    </Page>
  )
}
