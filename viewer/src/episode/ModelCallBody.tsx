import { plural } from '../format'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { Num } from '../parts/Num'
import { Tokens } from '../parts/Tokens'
import { Marked } from '../renderers/Marked'
import { TextView } from '../renderers/TextView'
import { ToolCallView } from '../renderers/ToolCallView'
import { isObject, toolCallOf } from '../renderers/talk'
import { spells } from '../renderers/turn'
import { type EventAt, type EventDocument, numberIn, payloadOf, spent, textIn } from './events'
import { Reasoning } from './Reasoning'
import styles from './timeline.module.css'

interface ModelCallBodyProps {
  row: number
  event: EventDocument
  eventAt: EventAt
  highlight: string
  onOpen: () => void
}

/** A model's reply with what it took, and a way to the whole exchange. */
export function ModelCallBody(props: ModelCallBodyProps) {
  const { event, highlight, onOpen } = props
  const payload = payloadOf(event)
  const { prompt, completion, cost } = spent(event)
  // A reply that is nothing but the action is told by the action, right below.
  const read = readOf(payload)
  const text = isAction(props) || read !== null ? '' : textIn(payload, 'text')
  const reasoning = textIn(payload, 'reasoning')
  const calls = Array.isArray(payload.tool_calls)
    ? payload.tool_calls.map(toolCallOf).filter((call) => call !== null)
    : []
  const finish = textIn(payload, 'finish_reason')
  const retries = numberIn(payload, 'retries') ?? 0
  return (
    <>
      {reasoning && <Reasoning text={reasoning} highlight={highlight} />}
      {text && <TextView text={text} highlight={highlight} />}
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call may lack an id
        <ToolCallView key={index} call={call} highlight={highlight} />
      ))}
      {read !== null && <p className={styles.since}>asked how probable the text above is</p>}
      {!textIn(payload, 'text') && read === null && !reasoning && !calls.length && (
        <p className={styles.since}>empty reply</p>
      )}
      <p className={styles.facts}>
        <span>
          <Marked text={textIn(payload, 'model')} />
        </span>
        {(prompt > 0 || completion > 0) && (
          <span data-tip="prompt and completion tokens">
            <Tokens value={prompt} /> → <Tokens value={completion} /> tokens
          </span>
        )}
        {read !== null && (
          <span data-tip={`The sum over ${plural(read.tokens, 'token')}, the first of the text left out`}>
            log-probability <Num value={read.total} />
          </span>
        )}
        <Duration seconds={numberIn(payload, 'latency_s')} />
        {cost !== null && cost > 0 && <Money usd={cost} />}
        {textIn(payload, 'path') !== '' && (
          <span data-tip={`Called by the program; requested model: ${textIn(payload, 'asked') || 'none'}`}>
            <code>
              <Marked text={textIn(payload, 'path')} />
            </code>
          </span>
        )}
        {payload.streamed === true && <Badge tone="idle">streamed</Badge>}
        {payload.cached === true && <Badge tone="idle">cached</Badge>}
        {retries > 0 && <Badge tone="warn">{retries === 1 ? '1 retry' : `${retries} retries`}</Badge>}
        {finish && finish !== 'stop' && <Badge tone={finish === 'length' ? 'warn' : 'idle'}>{finish}</Badge>}
        <Button look="quiet" className={styles.small} onClick={onOpen}>
          Request and reply
        </Button>
      </p>
    </>
  )
}

/** What a call that was to read a text, not to reply, tells of it; null for any other call. */
function readOf(payload: Record<string, unknown>): { tokens: number; total: number } | null {
  const { logprobs, request } = payload
  if (!isObject(logprobs) || !isObject(request) || request.echo !== true) return null
  if ((numberIn(request, 'max_tokens') ?? 0) > 1) return null
  const [tokens, total] = [numberIn(logprobs, 'read'), numberIn(logprobs, 'read_total')]
  return tokens === null || total === null ? null : { tokens, total }
}

/** Tool calls between a reply and the action that it is. */
const MOST_CALLS = 24

function isAction({ row, event, eventAt }: ModelCallBodyProps): boolean {
  const text = textIn(payloadOf(event), 'text').trim()
  for (let at = row + 1; text && at <= row + MOST_CALLS; at++) {
    const next = eventAt(at)
    if (!next || next.step !== event.step) return false
    if (next.kind === 'action') return spells(text, payloadOf(next).action)
  }
  return false
}
