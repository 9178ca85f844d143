import { signed } from '../format'
import { Badge } from '../parts/Badge'
import { Num } from '../parts/Num'
import { TextView } from '../renderers/TextView'
import { type EventDocument, numberIn, payloadOf, textIn } from './events'
import { FieldList } from './FieldList'
import { ScoreList } from './ScoreList'
import { scoresOf } from './scores'
import styles from './timeline.module.css'

/** Fields of a sample without a reward: its number is a placeholder, not a reward of zero. */
const UNSCORED = ['grader_failure', 'left_out', 'ungraded']

/** What came of an action: reward, whether it is over, what else the environment told. */
export function StepResultBody({ event, highlight }: { event: EventDocument; highlight: string }) {
  const payload = payloadOf(event)
  const reward = numberIn(payload, 'reward')
  const info =
    payload.info !== null && typeof payload.info === 'object' ? (payload.info as Record<string, unknown>) : {}
  const unscored = UNSCORED.some((fact) => fact in info)
  const scores = scoresOf(info.scores)
  // The answer of a program is the observation that follows.
  const { scores: _scores, answer: _answer, ...told } = info
  const fields = scores === null ? info : told
  const prompt = textIn(payload, 'system_prompt')
  return (
    <>
      <p className={styles.facts}>
        {unscored && <span>no reward</span>}
        {reward !== null && !unscored && scores === null && (
          <span className={styles.reward} data-sign={Math.sign(reward)}>
            reward <Num value={reward} form={signed} />
          </span>
        )}
        {payload.terminated === true && <Badge tone="good">ended</Badge>}
        {payload.truncated === true && <Badge tone="warn">truncated</Badge>}
      </p>
      {scores !== null && <ScoreList scores={scores} highlight={highlight} />}
      {Object.keys(fields).length > 0 && <FieldList fields={fields} highlight={highlight} />}
      {prompt && <TextView text={prompt} highlight={highlight} lines={4} />}
    </>
  )
}
