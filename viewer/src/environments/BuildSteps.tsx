import { Icon, type IconName } from '../parts/Icon'
import styles from './BuildSteps.module.css'
import { type Stage, stagesOf } from './stages'

const ICONS: Record<Stage['state'], IconName> = { done: 'check', now: 'play', failed: 'error', ahead: 'dash' }
const WORDS: Record<Stage['state'], string> = { done: 'done', now: 'in progress', failed: 'failed', ahead: 'pending' }

/** The steps of a build, one after the other. */
export function BuildSteps({ state, reached }: { state: string; reached?: string }) {
  return (
    <ol className={styles.steps} aria-label="Steps of the build">
      {stagesOf(state, reached).map((stage) => (
        <li
          key={stage.name}
          data-state={stage.state}
          data-tip={stage.about}
          aria-current={stage.state === 'now' ? 'step' : undefined}
        >
          <Icon name={ICONS[stage.state]} size={14} label={WORDS[stage.state]} />
          <span>{stage.label}</span>
        </li>
      ))}
    </ol>
  )
}
