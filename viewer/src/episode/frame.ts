/** One move of an episode as a player shows it: what was seen, what was done, what came of it. */
import { type EventDocument, numberIn, type Observed, observed, payloadOf, textIn } from './events'

export interface Frame {
  step: number
  /** What the agent saw; null when it saw nothing. */
  before: Observed | null
  actions: { action: unknown; role: string }[]
  reasoning: string
  tools: { id: string; name: string; arguments: unknown }[]
  /** What the model said when there was no action. */
  said: string
  after: Observed | null
  reward: number | null
  over: boolean
  failure: { cause: string; message: string } | null
}

/** Kinds of events that a frame is made of. */
export const FRAME_KINDS = ['observation', 'action', 'tool_call', 'step_result', 'model_call', 'error'] as const

/** Return the frame of a step from the events of it and of the step before. */
export function frameOf(events: readonly EventDocument[], step: number): Frame {
  const frame: Frame = {
    step,
    before: null,
    actions: [],
    reasoning: '',
    tools: [],
    said: '',
    after: null,
    reward: null,
    over: false,
    failure: null,
  }
  for (const event of events) {
    if (event.kind === 'observation' && event.step === step - 1) frame.before = observed(event)
    else if (event.step === step) take(frame, event)
  }
  return frame
}

function take(frame: Frame, event: EventDocument): void {
  const payload = payloadOf(event)
  if (event.kind === 'observation') frame.after = observed(event)
  else if (event.kind === 'action') {
    frame.actions.push({ action: payload.action, role: textIn(payload, 'role') })
    frame.reasoning = textIn(payload, 'reasoning') || frame.reasoning
  } else if (event.kind === 'model_call') {
    frame.reasoning = textIn(payload, 'reasoning') || frame.reasoning
    frame.said = textIn(payload, 'text')
  } else if (event.kind === 'tool_call') {
    frame.tools.push({ id: textIn(payload, 'id'), name: textIn(payload, 'name'), arguments: payload.arguments })
  } else if (event.kind === 'step_result') {
    const reward = numberIn(payload, 'reward')
    frame.reward = frame.reward === null ? reward : frame.reward + (reward ?? 0)
    frame.over = payload.terminated === true || payload.truncated === true
  } else if (event.kind === 'error') {
    frame.failure = { cause: textIn(payload, 'cause'), message: textIn(payload, 'message') }
  }
}
