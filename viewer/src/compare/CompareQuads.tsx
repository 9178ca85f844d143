import type { CSSProperties } from 'react'
import { count } from '../format'
import type { Label } from './CompareLabels'
import { CompareLetter } from './CompareLetter'
import styles from './CompareTaskView.module.css'
import type { Pair } from './CompareVerdict'

/** Tasks that are passed or failed: how many both passed, only one of them, or none. */
export function CompareQuads({ pair, a, b }: { pair: Pair; a: Label; b: Label }) {
  const at = (x: number, y: number) => pair.density.find((cell) => cell.a === x && cell.b === y)?.n ?? 0
  const cell = (x: number, y: number, words: string, side?: Label) => (
    <td data-side={side && ''} style={side && ({ '--side-colour': side.colour } as CSSProperties)}>
      <strong className="number">{count(at(x, y))}</strong>
      {words}
    </td>
  )
  const letter = (label: Label) => <CompareLetter letter={label.letter} colour={label.colour} />
  return (
    <div className={styles.quads}>
      <table>
        <caption className="hidden-text">Tasks passed and failed by both runs</caption>
        <thead>
          <tr>
            <th scope="col">
              <span className="hidden-text">Outcome</span>
            </th>
            <th scope="col">{letter(b)} failed</th>
            <th scope="col">{letter(b)} passed</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">{letter(a)} passed</th>
            {cell(1, 0, `only ${a.letter}`, a)}
            {cell(1, 1, 'both')}
          </tr>
          <tr>
            <th scope="row">{letter(a)} failed</th>
            {cell(0, 0, 'neither')}
            {cell(0, 1, `only ${b.letter}`, b)}
          </tr>
        </tbody>
      </table>
    </div>
  )
}
