import { styled } from './ansi'
import { Marked } from './Marked'
import styles from './text.module.css'

/** Text of a terminal in the colours that it asks for. */
export function AnsiText({ text, highlight }: { text: string; highlight?: string }) {
  return styled(text).map((run, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the runs of one text have no other identity
    <span key={index} className={run.look.map((name) => styles[name] ?? '').join(' ')}>
      <Marked text={run.text} highlight={highlight} />
    </span>
  ))
}
