import { signed } from '../format'
import { Badge } from '../parts/Badge'
import { Num } from '../parts/Num'
import { ContentView } from '../renderers/ContentView'
import type { NamedView } from '../renderers/content'
import { FailureView } from '../renderers/FailureView'
import { Marked } from '../renderers/Marked'
import { TextView } from '../renderers/TextView'
import { ToolCallView } from '../renderers/ToolCallView'
import { ActionView } from './ActionView'
import type { Frame } from './frame'
import styles from './player.module.css'
import { Reasoning } from './Reasoning'

/** One move, big: the scene after it with what changed, and beside it what was done and thought. */
export function FrameView({ frame, named }: { frame: Frame; named?: NamedView | null }) {
  const scene = frame.after ?? frame.before
  const before = frame.after ? frame.before?.data : undefined
  return (
    <div className={styles.stage}>
      <div className={styles.frame}>
        <div className={styles.scene}>
          {scene ? (
            <ContentView data={scene.data} type={scene.type} before={before} large named={named} />
          ) : (
            <p className={styles.nothing}>
              {frame.step === 0
                ? 'There is no observation before the first step.'
                : 'There is no observation in this step.'}
            </p>
          )}
        </div>
        <div className={styles.words}>
          {frame.reasoning && <Reasoning text={frame.reasoning} highlight="" />}
          {frame.tools.map((call, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a call may lack an id
            <ToolCallView key={index} call={call} />
          ))}
          {frame.actions.map(({ action, role }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: moves of one step have no other identity
            <div key={index} className={styles.move}>
              <span className={styles.label}>{role ? <Marked text={role} /> : 'Action'}</span>
              <ActionView action={action} />
            </div>
          ))}
          {!frame.actions.length && frame.said && <TextView text={frame.said} />}
          {frame.step === 0 && <p className={styles.nothing}>The initial state.</p>}
          <p className={styles.outcome}>
            {frame.reward !== null && (
              <span>
                reward <Num value={frame.reward} form={signed} />
              </span>
            )}
            {frame.over && <Badge tone="good">ended here</Badge>}
          </p>
          {frame.failure && <FailureView failure={frame.failure} />}
        </div>
      </div>
    </div>
  )
}
