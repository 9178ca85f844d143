import { source } from '../api/source'
import { Icon } from '../parts/Icon'
import { Key } from '../parts/Key'
import styles from './KeyLine.module.css'
import { OUTCOMES } from './outcome'

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['j', 'k'], 'move'],
  [['x'], 'select'],
  [['c'], 'compare'],
  [['r'], 'rename'],
  [['b'], 'baseline'],
  [['Enter'], 'open'],
  [['w'], 'wrong answers of the run'],
]

/** Keys that need a server that keeps things. */
const LIVE = new Set(['rename', 'baseline'])

/** The keys of a list, and what the colours of its outcomes mean. */
export function KeyLine({ keys = KEYS, legend = true }: { keys?: typeof KEYS; legend?: boolean }) {
  return (
    <div className={styles.line}>
      {keys
        .filter(([, words]) => source.live || !LIVE.has(words))
        .map(([pressed, words]) => (
          <span key={words}>
            {pressed.map((key) => (
              <Key key={key} keys={key} />
            ))}{' '}
            {words}
          </span>
        ))}
      {legend && (
        <span className={styles.legend}>
          Outcome:
          {OUTCOMES.map(({ id, word, icon }) => (
            <span key={id} className={styles.outcome} data-word={id}>
              <Icon name={icon} size={13} /> {word}
            </span>
          ))}
        </span>
      )}
      {legend && <span>Grey difference: inside its interval</span>}
    </div>
  )
}
