import { memo } from 'react'
import { count } from '../../format'
import { Marked } from '../../renderers/Marked'
import type { Pair } from './align'
import styles from './episodes.module.css'

interface AlignedStepProps {
  pair: Pair
  loaded: boolean
  current: boolean
  /** Whether the episodes part ways here. */
  first: boolean
  onStep: (step: number) => void
}

/** One step of both episodes. */
export const AlignedStep = memo(function AlignedStep({ pair, loaded, current, first, onStep }: AlignedStepProps) {
  const differs = loaded && pair.differs && pair.step > 0
  return (
    <button
      type="button"
      className={styles.step}
      aria-current={current ? 'step' : undefined}
      data-differs={differs || undefined}
      data-first={first || undefined}
      onClick={() => onStep(pair.step)}
    >
      <span className={styles.number}>{count(pair.step)}</span>
      <Action text={loaded ? pair.a?.action : undefined} />
      <span className={styles.sign}>{differs && <span data-tip="different actions">≠</span>}</span>
      <Action text={loaded ? pair.b?.action : undefined} />
    </button>
  )
})

function Action({ text }: { text: string | undefined }) {
  return <span className={styles.words}>{text === undefined ? '' : text ? <Marked text={text} /> : '·'}</span>
}
