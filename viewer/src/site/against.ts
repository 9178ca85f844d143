/** Two episodes of a site, step beside step: their outlines say what was done, not what came of it. */
import type { Schema } from '../api/types'
import { episodeFile } from './episodes'
import { listSteps } from './trace'

type Step = Schema<'StepSummary'>
type Aligned = Schema<'AlignedStepDocument'>

/** Answer `/api/episodes/{id}/against/{other}`. */
export async function compareEpisodes(id: string, otherId: string): Promise<Schema<'EpisodePairDocument'>> {
  const [one, other] = [await episodeFile(id), await episodeFile(otherId)]
  const side = (episode_id: string, steps: number) => ({ episode_id, steps, repeated: 0, in_vain: 0 })
  const shared = {
    by: 'step' as const,
    whole: true,
    a: side(one.detail.id, one.detail.steps),
    b: side(other.detail.id, other.detail.steps),
  }
  if (one.detail.task_digest !== other.detail.task_digest) {
    const words = 'These episodes are of different tasks, so their steps are not compared.'
    return { ...shared, finding: 'other_task', words, first: null, steps: [] }
  }
  const steps = paired(await allSteps(id), await allSteps(otherId))
  const first = steps.find(({ change }) => change !== 'same')
  const number = first === undefined ? null : (first.a ?? first.b)?.number
  if (first === undefined || number == null) {
    return { ...shared, finding: 'same', words: 'Both did the same in every step.', first: null, steps }
  }
  const finding = first.change === 'action' ? 'action' : 'ended'
  const ended = first.a === null ? 'A' : 'B'
  const words =
    finding === 'action'
      ? `Step ${number}: the same until here, then another action.`
      : `The same until ${ended} ended.`
  return { ...shared, finding, words, first: number, steps }
}

async function allSteps(id: string): Promise<Step[]> {
  const found: Step[] = []
  let from: number | null = 0
  while (from !== null) {
    const page: Schema<'StepPage'> = await listSteps(id, { from, limit: 500 })
    found.push(...page.items)
    from = page.next
  }
  return found
}

/** Steps of both by their numbers. */
export function paired(a: readonly Step[], b: readonly Step[]): Aligned[] {
  const left = new Map(a.map((step) => [step.step, step]))
  const right = new Map(b.map((step) => [step.step, step]))
  const numbers = [...new Set([...left.keys(), ...right.keys()])].sort((x, y) => x - y)
  return numbers.map((number) => {
    const [one, other] = [left.get(number) ?? null, right.get(number) ?? null]
    const change = one === null ? 'only_b' : other === null ? 'only_a' : one.action === other.action ? 'same' : 'action'
    return { a: moveOf(one), b: moveOf(other), change }
  })
}

function moveOf(step: Step | null): Aligned['a'] {
  if (step === null) return null
  const { first_event, events, action, reward } = step
  return {
    number: step.step,
    step: step.step,
    first_event,
    events,
    action,
    reward,
    failure: step.errors > 0 ? 'error' : '',
  }
}
