import { useMemo, useState } from 'react'
import { count } from '../format'
import { TextButton } from '../parts/TextButton'
import { type DiffLine, difference, shortened, unified } from './diff'
import styles from './diff.module.css'
import { Marked } from './Marked'
import { ScrollBox } from './ScrollBox'

const SIGNS = { added: '+', removed: '−', same: ' ', place: '', file: '' }
const PAGE = 400

interface DiffViewProps {
  /** A unified diff … */
  diff?: string
  /** … or two texts. */
  before?: string
  after?: string
}

/** Added and removed lines, told by a sign and by colour. */
export function DiffView({ diff, before, after }: DiffViewProps) {
  const lines = useMemo(
    () => (diff !== undefined ? unified(diff) : shortened(difference(before ?? '', after ?? ''))),
    [diff, before, after],
  )
  const [shown, setShown] = useState(PAGE)
  return (
    <div>
      <ScrollBox className={styles.scroll} label="Difference">
        <table className={styles.table}>
          <tbody>
            {lines.slice(0, shown).map((line, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
              <tr key={index} className={styles[line.kind]}>
                <td className={styles.number}>{line.before || ''}</td>
                <td className={styles.number}>{line.after || ''}</td>
                <td className={styles.sign}>{SIGNS[line.kind]}</td>
                <td className={styles.text}>{words(line)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {shown < lines.length && (
        <TextButton onClick={() => setShown(shown * 3)}>Show more of {count(lines.length)} lines</TextButton>
      )}
    </div>
  )
}

function words(line: DiffLine) {
  if (!line.words) return <Marked text={line.text} />
  return line.words.map((word, index) =>
    word.changed ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
      <span key={index} className={styles.word}>
        <Marked text={word.text} />
      </span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity
      <Marked key={index} text={word.text} />
    ),
  )
}
