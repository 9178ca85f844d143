/** Calls that were expected on the left, those that were made on the right: first the calls, then their arguments. */

import { useState } from 'react'
import { plural } from '../../format'
import { Panel } from '../../parts/Panel'
import { Segments } from '../../parts/Segments'
import { DiffView } from '../../renderers/DiffView'
import { Marked } from '../../renderers/Marked'
import styles from './answer.module.css'
import { type Argument, type Call, type CallPair, matchedCalls, written } from './calls'

const STATES = { same: 'as expected', changed: 'other arguments', missing: 'missing', extra: 'extra' }

export function CallsTable({ expected, given }: { expected: readonly Call[]; given: readonly Call[] }) {
  const [shown, setShown] = useState<'calls' | 'json'>('calls')
  return (
    <Panel
      title="Calls"
      note={`${plural(given.length, 'call')} where ${expected.length} ${expected.length === 1 ? 'is' : 'are'} right`}
      actions={
        <Segments
          label="Show as"
          segments={[
            { value: 'calls', label: 'Calls' },
            { value: 'json', label: 'JSON' },
          ]}
          value={shown}
          onChange={setShown}
        />
      }
    >
      {shown === 'json' ? (
        <DiffView before={json(expected)} after={json(given)} />
      ) : (
        <ul className={styles.calls}>
          {matchedCalls(expected, given).map((pair, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: calls have no other identity
            <CallRow key={index} pair={pair} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

function json(calls: readonly Call[]): string {
  return JSON.stringify(JSON.parse(written(calls)), null, 2)
}

function CallRow({ pair }: { pair: CallPair }) {
  return (
    <li data-state={pair.state}>
      <p>
        <code>
          <Marked text={pair.name} />
        </code>{' '}
        <span className={styles.chip}>{STATES[pair.state]}</span>
      </p>
      {pair.arguments.length > 0 && (
        <table className={styles.steps}>
          <thead>
            <tr>
              <th scope="col">Argument</th>
              <th scope="col">Expected</th>
              <th scope="col">Given</th>
            </tr>
          </thead>
          <tbody>
            {pair.arguments.map((argument) => (
              <tr key={argument.name} data-first={argument.state !== 'same' || undefined}>
                <th scope="row">
                  <Marked text={argument.name} />
                </th>
                <td>{shownValue(argument, 'expected')}</td>
                <td>{shownValue(argument, 'given')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </li>
  )
}

function shownValue(argument: Argument, side: 'expected' | 'given') {
  if (!(side in argument)) return <span className="muted">{side === 'given' ? 'left out' : 'not expected'}</span>
  const text = written(argument[side]) ?? ''
  const className = argument.state === 'same' ? undefined : side === 'given' ? styles.removed : styles.added
  return (
    <code className={className}>
      <Marked text={text.slice(0, 2_000)} />
    </code>
  )
}
