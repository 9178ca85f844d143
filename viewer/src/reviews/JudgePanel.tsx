import type { ReactNode } from 'react'
import type { Schema } from '../api/types'
import { count, interval, measure, signed } from '../format'
import { Icon } from '../parts/Icon'
import { Panel } from '../parts/Panel'
import styles from './reviews.module.css'

/** A grader or judge against people: how often they differ, and what follows for its scores. */
export function JudgePanel({ judge }: { judge: Schema<'JudgeDocument'> }) {
  const { confusion: cells, pair, bias, rate, corrected, sensitivity, specificity } = judge
  const n = cells.right_right + cells.right_wrong + cells.wrong_right + cells.wrong_wrong
  const says = cells.right_right + cells.right_wrong
  const people = cells.right_right + cells.wrong_right
  return (
    <Panel title={`${pair.other} against people`}>
      <table className={styles.confusion}>
        <caption className="hidden-text">How often {pair.other} and people say right or wrong</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">Judge: right</th>
            <th scope="col">Judge: wrong</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">People: right</th>
            <td>{count(cells.right_right)}</td>
            <td data-differs={cells.wrong_right > 0 || undefined}>{count(cells.wrong_right)}</td>
          </tr>
          <tr>
            <th scope="row">People: wrong</th>
            <td data-differs={cells.right_wrong > 0 || undefined}>{count(cells.right_wrong)}</td>
            <td>{count(cells.wrong_wrong)}</td>
          </tr>
        </tbody>
      </table>
      <dl className={styles.facts}>
        <Fact term="Judge says right">
          {count(says)} of {count(n)}, people {count(people)}
        </Fact>
        {bias && (
          <Fact term={bias.value < 0 ? 'Strict by' : 'Lenient by'}>
            {signed(bias.value)} <span className="muted">{interval(bias.low, bias.high, bias.weak)}</span>
          </Fact>
        )}
        {sensitivity && (
          <Fact term="Calls right what is right">
            {measure(sensitivity.value)}{' '}
            <span className="muted">{interval(sensitivity.low, sensitivity.high, sensitivity.weak)}</span>
          </Fact>
        )}
        {specificity && (
          <Fact term="Calls wrong what is wrong">
            {measure(specificity.value)}{' '}
            <span className="muted">{interval(specificity.low, specificity.high, specificity.weak)}</span>
          </Fact>
        )}
        <Fact term="Score corrected for it">
          {corrected ? (
            <>
              {measure(corrected.value)}{' '}
              <span className="muted">{interval(corrected.low, corrected.high, corrected.weak)}</span>
            </>
          ) : (
            <span className="muted">{judge.uncorrected}</span>
          )}
          {rate !== null && <span className="muted"> judge alone {measure(rate)}</span>}
        </Fact>
        <Fact term="Fit to use alone">
          <span className={judge.fit ? styles.good : styles.bad}>
            <Icon name={judge.fit ? 'check' : 'close'} size={13} /> {judge.verdict}
          </span>
        </Fact>
      </dl>
    </Panel>
  )
}

function Fact({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  )
}
