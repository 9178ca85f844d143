import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { REWARDS, SPACES } from '../api/words'
import { CheckPanel } from '../environments/CheckPanel'
import { count } from '../format'
import { lookOf } from '../parts/look'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { Markdown } from '../renderers/Markdown'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'

/** What an environment promises, and what is measured. */
export function VowPanel({ domain }: { domain: Schema<'Domain'> }) {
  const me = useMe()
  const vow = domain.binding_vow
  const history = [...(domain.version_history ?? [])].reverse()
  return (
    <div className={styles.stack}>
      <Panel title="Binding vow" note={`version ${vow.version}`}>
        <div className={styles.stack}>
          {vow.description && <Markdown text={vow.description} links />}
          <Terms vow={vow} />
        </div>
      </Panel>
      {domain.check && <CheckPanel check={domain.check} />}
      <Panel title="Scoring">
        <dl className={styles.terms}>
          {domain.scoring.metrics.map((metric) => (
            <div key={metric.name} className={styles.pair}>
              <dt>{metric.name}</dt>
              <dd>
                {String(metric.aggregation).replaceAll('_', ' ')}
                {metric.name === domain.scoring.primary_metric && ' (used for ranking)'}
              </dd>
            </div>
          ))}
        </dl>
      </Panel>
      {history.length > 1 && (
        <Panel title="Versions">
          <dl className={styles.terms}>
            {history.map((one) => (
              <div key={one.version} className={styles.pair}>
                <dt>{one.version}</dt>
                <dd>{[one.date, one.changes].filter(Boolean).join(': ') || '–'}</dd>
              </div>
            ))}
          </dl>
        </Panel>
      )}
      {domain.environment_id && isMember(me) && String(me?.user_id) === domain.owner_id && (
        <p>
          <Link to="/environments/$environmentId" params={{ environmentId: domain.environment_id }}>
            Environment: build, versions, logs
          </Link>
        </p>
      )}
    </div>
  )
}

function Terms({ vow }: { vow: Schema<'Domain'>['binding_vow'] }) {
  const { reward, episode } = vow
  const range = reward.range ? `${reward.range.low} to ${reward.range.high}` : ''
  return (
    <dl className={styles.terms}>
      <dt>Observation</dt>
      <dd>{spaceWords(vow.observation_space)}</dd>
      <dt>Action</dt>
      <dd>{spaceWords(vow.action_space)}</dd>
      <dt>Reward</dt>
      <dd>{[lookOf<string>(REWARDS, reward.type) ?? reward.type, range].filter(Boolean).join(', ')}</dd>
      <dt>Steps</dt>
      <dd className="number">{episode.max_steps ? `at most ${count(episode.max_steps)}` : 'no limit'}</dd>
      <dt>Seeds</dt>
      <dd>{episode.supports_seed === false ? 'not supported' : 'supported'}</dd>
      {(vow.techniques ?? []).length > 0 && (
        <>
          <dt>Techniques</dt>
          <dd>{vow.techniques?.map((one) => one.technique_id).join(', ')}</dd>
        </>
      )}
    </dl>
  )
}

function spaceWords(space: object): string {
  if (!('type' in space)) return 'fields' in space ? 'several fields' : 'anything'
  const { type, enum_values: values } = space as { type: string; enum_values?: string[] | null }
  return values && values.length > 0
    ? `one of ${values.slice(0, 8).join(', ')}${values.length > 8 ? ', …' : ''}`
    : (lookOf<string>(SPACES, type) ?? type)
}
