/** How a run was made: commands to repeat it, facts in words, and all of it as JSON. */

import type { Schema } from '../api/types'
import { Command } from '../parts/Command'
import { Panel } from '../parts/Panel'
import { JsonTree } from '../renderers/JsonTree'
import styles from './Configuration.module.css'
import { type FactGroup, runFacts } from './facts'

export function Configuration({ run }: { run: Schema<'RunDetail'> }) {
  const commands = [
    { label: 'Run again', command: run.commands.repeat },
    { label: 'Resume', command: run.commands.resume },
    { label: 'Show', command: run.commands.show },
  ]
  return (
    <div className={styles.configuration}>
      <Panel title="In the terminal">
        <dl className={styles.commands}>
          {commands.map(({ label, command }) =>
            command === null ? null : (
              <div key={label}>
                <dt>{label}</dt>
                <dd>
                  <Command>{command}</Command>
                </dd>
              </div>
            ),
          )}
        </dl>
      </Panel>
      <div className={styles.groups}>
        {runFacts(run).map((group) => (
          <Facts key={group.title} group={group} />
        ))}
      </div>
      <Panel title="As JSON">
        <JsonTree
          value={{ spec: run.spec, provenance: run.provenance, info: run.info }}
          label="Configuration as JSON"
        />
      </Panel>
    </div>
  )
}

function Facts({ group }: { group: FactGroup }) {
  return (
    <Panel title={group.title}>
      <dl className={styles.facts}>
        {group.facts.map(({ label, value, code }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{code ? <code>{value}</code> : value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
