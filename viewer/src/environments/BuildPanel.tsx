import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { sentence } from '../format'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { Tabs } from '../parts/Tabs'
import { BuildSteps } from './BuildSteps'
import { LogText } from './LogText'
import { building, reachedIn } from './stages'

const LOOK_AGAIN = 1_500

/** How the build of the newest version goes, and what was written meanwhile. */
export function BuildPanel({ environment }: { environment: Schema<'EnvironmentDetail'> }) {
  const [tab, setTab] = useState<'build' | 'adapter'>('build')
  const going = building(environment.status)
  const version = environment.submission_version ?? 1
  const logs = useQuery({
    ...documentQuery('/api/environments/{environment_id}/logs', {
      params: { environment_id: environment.id },
      query: { version },
    }),
    // The log has its last lines once it says itself that the build is over.
    refetchInterval: ({ state }) => (going || building(state.data?.state) ? LOOK_AGAIN : false),
  })
  const state = environment.stage || environment.status
  const older = environment.ready_version != null && environment.ready_version !== version
  return (
    <Panel title={`Build of version ${version}`}>
      <div className={styles.stack}>
        <BuildSteps state={state} reached={reachedIn(logs.data?.build ?? '')} />
        {environment.error_message && environment.status === 'failed' && (
          <div className={styles.wrong} role="alert">
            <strong>The build failed</strong>
            <p>{sentence(environment.error_message)}</p>
            {older && <p>Runs still use version {environment.ready_version}.</p>}
          </div>
        )}
        <Tabs
          label="Logs"
          tabs={[
            { id: 'build', label: 'Build log' },
            { id: 'adapter', label: 'Adapter log' },
          ]}
          selected={tab}
          onSelect={setTab}
        >
          {tab === 'build' ? (
            <LogText
              text={logs.data?.build ?? ''}
              follow={going}
              empty={going ? 'Waiting for the first line…' : 'The log is empty.'}
              label="Build log"
            />
          ) : (
            <LogText
              text={logs.data?.adapter ?? ''}
              follow
              empty="The adapter has not run on this machine yet. Its output appears here after the first run."
              label="Adapter log"
            />
          )}
        </Tabs>
      </div>
    </Panel>
  )
}
