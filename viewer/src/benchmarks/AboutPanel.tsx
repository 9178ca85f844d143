/** What a benchmark is: where it comes from, what may be done with it, what runs it here. */

import type { ReactNode } from 'react'
import type { Schema } from '../api/types'
import { Command } from '../parts/Command'
import { Icon } from '../parts/Icon'
import { Panel } from '../parts/Panel'
import { SourceLink } from '../parts/SourceLink'
import styles from './AboutPanel.module.css'
import { coverageWords } from './coverage'

export function AboutPanel({ benchmark }: { benchmark: Schema<'BenchmarkDetail'> }) {
  const { source, licence, split, unit, aliases, agent, origin, command, coverage } = benchmark
  const { word, numbers, title } = coverageWords(coverage)
  const facts: [string, ReactNode][] = [
    ['Source', source && <SourceLink source={source} />],
    ['License', licence],
    ['Split', split],
    ['Unit', unit],
    ['Agent', agent && <code>{agent}</code>],
    ['Aliases', aliases.join(', ')],
    ['Location', origin],
    [
      'Coverage',
      <span key="coverage" data-tip={title}>
        {[word, numbers].filter(Boolean).join(' · ')}
      </span>,
    ],
  ]
  return (
    <Panel title="About">
      <div className={styles.about}>
        <dl className={styles.facts}>
          {facts
            .filter(([, value]) => value)
            .map(([label, value]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
        </dl>
        <Here benchmark={benchmark} />
        {command !== null && (
          <div className={styles.command}>
            <Command>{command}</Command>
          </div>
        )}
      </div>
    </Panel>
  )
}

/** What is missing on this machine. */
function Here({ benchmark: { lacking, requirements, command } }: { benchmark: Schema<'BenchmarkDetail'> }) {
  if (command === null) return null
  if (lacking === null) return <p className="muted">Checking this machine…</p>
  if (lacking.length === 0) {
    return (
      <p className={styles.ready}>
        <Icon name="check" size={14} />
        {requirements.length === 0 ? 'No requirements.' : 'All requirements are met.'}
      </p>
    )
  }
  return (
    <div>
      <p className={styles.missing}>
        <Icon name="warning" size={14} />
        Missing requirements:
      </p>
      <ul className={styles.list}>
        {lacking.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </div>
  )
}
