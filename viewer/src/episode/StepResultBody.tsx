import { signed } from '../format'
import { Badge } from '../parts/Badge'
import { Num } from '../parts/Num'
import { LikelihoodList } from '../renderers/ChoicesView'
import { choicesOf, likelihoodsOf } from '../renderers/choices'
import { JsonTree } from '../renderers/JsonTree'
import { TextView } from '../renderers/TextView'
import { isObject } from '../renderers/talk'
import { type EventAt, type EventDocument, lookBack, numberIn, observed, payloadOf, textIn } from './events'
import { FieldList } from './FieldList'
import { ScoreList } from './ScoreList'
import { type GivenScore, scoresOf } from './scores'
import ending from './scores.module.css'
import styles from './timeline.module.css'

interface StepResultBodyProps {
  row: number
  event: EventDocument
  eventAt: EventAt
  highlight: string
}

/** Fields of a sample without a reward: its number is a placeholder, not a reward of zero. */
const UNSCORED = ['grader_failure', 'left_out', 'ungraded']

/** What came of an action: reward, whether it is over, what else the environment told. */
export function StepResultBody({ row, event, eventAt, highlight }: StepResultBodyProps) {
  const payload = payloadOf(event)
  const reward = numberIn(payload, 'reward')
  const info = isObject(payload.info) ? payload.info : {}
  const unscored = UNSCORED.some((fact) => fact in info)
  const scores = scoresOf(info.scores)
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
      {scores !== null ? (
        <Ending scores={scores} info={info} asked={asked(eventAt, row)} highlight={highlight} />
      ) : (
        Object.keys(info).length > 0 && <FieldList fields={info} highlight={highlight} />
      )}
      {prompt && <TextView text={prompt} highlight={highlight} lines={4} />}
    </>
  )
}

/** What the program was given to play. */
function asked(eventAt: EventAt, row: number): unknown {
  const first = lookBack(eventAt, row, ({ kind }) => kind === 'observation')
  return first === undefined ? undefined : observed(first).data
}

interface EndingProps {
  scores: readonly GivenScore[]
  info: Record<string, unknown>
  asked: unknown
  highlight: string
}

/** What a program tells at the end: its scores first; what is nested is folded. Its answer is the next observation. */
function Ending({ scores, info, asked, highlight }: EndingProps) {
  const { scores: _scores, answer: _answer, ...told } = info
  const likelihoods = likelihoodsOf(told.responses)
  const entries = Object.entries(told).filter(([name]) => likelihoods === null || name !== 'responses')
  const plain = Object.fromEntries(entries.filter(([, value]) => !isObject(value) && !Array.isArray(value)))
  const nested = Object.fromEntries(entries.filter(([name]) => !(name in plain)))
  return (
    <>
      <ScoreList scores={scores} highlight={highlight} />
      {likelihoods !== null && (
        <LikelihoodList likelihoods={likelihoods} texts={choicesOf(asked)?.continuations ?? []} highlight={highlight} />
      )}
      {Object.keys(plain).length > 0 && <FieldList fields={plain} highlight={highlight} />}
      {Object.keys(nested).length > 0 && (
        <details className={ending.more} open={highlight !== '' || undefined}>
          <summary>What the framework tells besides</summary>
          <JsonTree value={nested} highlight={highlight} />
        </details>
      )}
    </>
  )
}
