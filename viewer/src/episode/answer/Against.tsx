/** What was given against what was expected: steps of a worked solution, words, calls, or JSON. */

import { useState } from 'react'
import type { Schema } from '../../api/types'
import { Panel } from '../../parts/Panel'
import { Segments } from '../../parts/Segments'
import { DiffView } from '../../renderers/DiffView'
import { type Word, wordDifference } from '../../renderers/diff'
import { Marked } from '../../renderers/Marked'
import { isObject } from '../../renderers/talk'
import styles from './answer.module.css'
import { CallsTable } from './CallsTable'
import { alignedSteps, type Calculation, calculationsIn, same, withoutMarks } from './calculations'
import { callsIn, written } from './calls'
import { answerText } from './texts'

/** Words of an answer from which on a difference says more than both beside each other. */
const WORDY = 3

export function Against({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  const { target, answer } = episode
  const reply = answerText(episode.terminal_info.answer) || answerText(answer)
  const reference = answerText(episode.reference)
  const [expected, given] = [callsIn(target), callsIn(answer)]
  if (expected !== null && given !== null) return <CallsTable expected={expected} given={given} />
  if (reference !== '' && reply !== '') return <Solution reference={reference} reply={reply} />
  if (isStructure(target) && isStructure(answer)) {
    return (
      <Panel title="Expected and given" note="as JSON, keys sorted">
        <DiffView before={pretty(target)} after={pretty(answer)} />
      </Panel>
    )
  }
  const [wanted, said] = [answerText(target), answerText(answer)]
  if (wanted.split(/\s+/).length < WORDY || said === '') return null
  return (
    <Panel title="Expected and given" note="words that the other does not have are marked">
      <Words before={wanted} after={said} names={['Expected', 'Given']} />
    </Panel>
  )
}

function isStructure(value: unknown): boolean {
  return Array.isArray(value) || isObject(value)
}

function pretty(value: unknown): string {
  return JSON.stringify(JSON.parse(written(value)), null, 2)
}

function Solution({ reference, reply }: { reference: string; reply: string }) {
  const steps = calculationsIn(reference)
  const own = calculationsIn(reply)
  const countable = steps.length > 0 && own.length > 0
  const [shown, setShown] = useState<'steps' | 'words'>(countable ? 'steps' : 'words')
  const { steps: aligned, first } = alignedSteps(steps, own)
  return (
    <Panel
      title="Against the reference solution"
      note={
        shown === 'words'
          ? 'words that the other does not have are marked'
          : `calculations in order${first > 0 ? `; first difference in step ${first}` : ''}`
      }
      actions={
        countable && (
          <Segments
            label="Compare by"
            segments={[
              { value: 'steps', label: 'Calculations' },
              { value: 'words', label: 'Words' },
            ]}
            value={shown}
            onChange={setShown}
          />
        )
      }
    >
      {shown === 'words' ? (
        <Words before={withoutMarks(reference)} after={withoutMarks(reply)} names={['Reference', 'This answer']} />
      ) : (
        <Steps steps={aligned} first={first} />
      )}
    </Panel>
  )
}

interface StepsProps {
  steps: ReturnType<typeof alignedSteps>['steps']
  first: number
}

function Steps({ steps, first }: StepsProps) {
  return (
    <table className={styles.steps}>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Reference</th>
          <th scope="col">This answer</th>
        </tr>
      </thead>
      <tbody>
        {steps.map(({ number, reference, given }) => (
          <tr key={number} data-first={number === first || undefined}>
            <th scope="row">{number}</th>
            <td>
              <Formula step={reference} sign="added" differs={!same(reference, given)} />
            </td>
            <td>
              <Formula step={given} sign="removed" differs={!same(reference, given)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Formula({ step, sign, differs }: { step?: Calculation; sign: 'added' | 'removed'; differs: boolean }) {
  if (step === undefined) return <span className="muted">–</span>
  return (
    <>
      <code>
        <Marked text={step.formula} /> ={' '}
        {differs ? (
          <span className={styles[sign]}>
            <Marked text={step.result} />
          </span>
        ) : (
          <Marked text={step.result} />
        )}
      </code>{' '}
      <span className="muted">
        <Marked text={step.of} />
      </span>
    </>
  )
}

function Words({ before, after, names }: { before: string; after: string; names: [string, string] }) {
  const found = wordDifference(before, after)
  return (
    <div className={styles.sides}>
      <div>
        <h3>{names[0]}</h3>
        <p className={styles.words}>{marked(found.before, styles.added)}</p>
      </div>
      <div>
        <h3>{names[1]}</h3>
        <p className={styles.words}>{marked(found.after, styles.removed)}</p>
      </div>
    </div>
  )
}

function marked(words: readonly Word[], className: string | undefined) {
  return words.map((word, index) =>
    word.changed && word.text.trim() !== '' ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
      <span key={index} className={className}>
        <Marked text={word.text} />
      </span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
      <Marked key={index} text={word.text} />
    ),
  )
}
