import { useState } from 'react'
import type { Schema } from '../api/types'
import { withoutMarks } from '../episode/answer/calculations'
import { useShortcut } from '../keys/useShortcut'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { Key } from '../parts/Key'
import { Panel } from '../parts/Panel'
import { blocksOf } from '../renderers/grid'
import { Markdown } from '../renderers/Markdown'
import styles from './reviews.module.css'
import { ANSWERS } from './words'

const ROLES: Record<string, string> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
  observation: 'Observation',
  action: 'Action',
  result: 'Result',
}

/** The question with what is expected and given, in a strip. */
export function ItemStrip({ item }: { item: Schema<'ReviewItem'> }) {
  return (
    <section className={styles.strip} aria-label="Question, expected, given">
      <div className={styles.question}>
        <h2 className={styles.name}>Question</h2>
        <Shown text={item.question} label="The question" />
      </div>
      {item.expected !== null && (
        <div>
          <h2 className={styles.name}>Expected</h2>
          <div className={styles.big} data-long={item.expected.length > 40 || undefined}>
            <Shown text={item.expected} label="The expected answer" />
          </div>
        </div>
      )}
      {item.given !== null && (
        <div>
          <h2 className={styles.name}>Given</h2>
          <div className={styles.big} data-long={item.given.length > 40 || undefined}>
            <Shown text={item.given} label="The given answer" />
          </div>
        </div>
      )}
    </section>
  )
}

interface ItemViewProps {
  item: Schema<'ReviewItem'>
  guide: Record<string, string>
  onStep: (words: string) => void
}

/** What was said, the worked solution, and what each verdict means in this round. */
export function ItemView({ item, guide, onStep }: ItemViewProps) {
  const [hidden, setHidden] = useState(false)
  useShortcut('h', 'Show or hide the reference', () => setHidden(!hidden), {
    group: 'Review',
    enabled: item.reference !== null,
  })
  const lines = item.lines.filter((line) => line.role !== 'user' || line.text.trim() !== item.question.trim())
  const asked = item.question.trim()
  const words = ANSWERS.filter(({ value }) => guide[value])
  return (
    <div className={styles.left}>
      <Panel title="Answer" flush>
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of an item never change their order
          <div key={at} className={styles.line} data-role={line.role}>
            <span className={styles.who}>{ROLES[line.role] ?? line.role}</span>
            {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the pointer; the field takes any words */}
            <div className={styles.said} onDoubleClick={() => onStep(selectedLine(line.text))}>
              <Said line={line} question={asked} />
              {line.cut && <p className="muted">The text is longer than is shown here.</p>}
            </div>
          </div>
        ))}
        {lines.length === 0 && <p className={styles.none}>Nothing was recorded.</p>}
        {item.more && <p className={styles.none}>The episode goes on.</p>}
      </Panel>
      {item.reference !== null && (
        <Panel
          title="Reference solution"
          actions={
            <Button look="quiet" aria-expanded={!hidden} onClick={() => setHidden(!hidden)}>
              {hidden ? 'Show' : 'Hide'} <Key keys="h" />
            </Button>
          }
        >
          {!hidden && <Plain text={withoutMarks(item.reference)} />}
        </Panel>
      )}
      {words.length > 0 && (
        <Panel title="Guide of this round">
          <dl className={styles.guide}>
            {words.map(({ value, short }) => (
              <div key={value}>
                <dt>{short}</dt>
                <dd>
                  <Markdown text={guide[value] ?? ''} links />
                </dd>
              </div>
            ))}
          </dl>
        </Panel>
      )}
    </div>
  )
}

/** What was said; the question stands on top of the page, so it is only referred to. */
function Said({ line, question }: { line: Schema<'ReviewLine'>; question: string }) {
  const text = withoutMarks(line.text)
  const place = line.role === 'user' && question !== '' ? text.indexOf(question) : -1
  if (place < 0) return <Plain text={text} />
  return (
    <div className={styles.plain} dir="auto">
      {text.slice(0, place)}
      <Badge>the question, as above</Badge> {text.slice(place + question.length).trimStart()}
    </div>
  )
}

/** The line of the text that was double-clicked: that which the selected word stands in. */
function selectedLine(text: string): string {
  const node = window.getSelection()?.anchorNode
  const shown = node?.parentElement?.closest('p, li, pre, div')?.textContent ?? ''
  const word = window.getSelection()?.toString().trim() ?? ''
  return (shown.split('\n').find((line) => line.includes(word)) ?? text.split('\n')[0] ?? '').trim().slice(0, 200)
}

/** Text of the strip, which scrolls where it is long: also by keys. */
function Shown({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section className={styles.plain} dir="auto" aria-label={label} tabIndex={0} data-drawn={drawn(text)}>
      {text}
    </section>
  )
}

/** Whether text holds a board, whose signs must stand below each other. */
function drawn(text: string): true | undefined {
  return blocksOf(text) !== null || undefined
}

/** Text as it is. */
function Plain({ text }: { text: string }) {
  return (
    <div className={styles.plain} dir="auto" data-drawn={drawn(text)}>
      {text}
    </div>
  )
}
