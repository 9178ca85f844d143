import { scaleLinear } from 'd3-scale'
import { compact, count, measure, plural, tick } from '../format'
import styles from './Charts.module.css'
import { Frame } from './Frame'
import { useReadout } from './useReadout'
import { XAxis } from './XAxis'
import { YAxis } from './YAxis'

/** How many values there are of each size. */
interface HistogramProps {
  title: string
  /** Ends of the whole range; the bins between them are equally wide. */
  low: number
  high: number
  counts: readonly number[]
  /** Values that are not there. */
  missing?: number
  /** What is counted. */
  noun?: string
  height?: number
  /** Called with the bounds of a bin that was pressed. */
  onChoose?: (low: number, high: number) => void
}

const LEFT = 40

/** A histogram of bins that were counted before. */
export function Histogram(props: HistogramProps) {
  const { title, low, high, counts, missing = 0, noun = 'episode', height = 180, onChoose } = props
  const { at, point, step, leave } = useReadout(counts.length)
  const edge = (index: number) => low + ((high - low) * index) / Math.max(1, counts.length)
  const span = (index: number) =>
    low === high ? measure(low) : `${measure(edge(index))} to ${measure(edge(index + 1))}`
  const total = counts.reduce((sum, one) => sum + one, 0)
  const most = Math.max(1, ...counts)
  const tallest = counts.indexOf(Math.max(...counts))
  const lacking = missing > 0 ? `; ${count(missing)} without a value` : ''
  const y = scaleLinear([0, most], [height - 22, 8]).nice(3)
  return (
    <Frame
      title={title}
      summary={`${title}: ${plural(total, noun)} from ${measure(low)} to ${measure(high)}, most at ${span(tallest)}${lacking}`}
      height={height}
      readout={at === undefined ? `${plural(total, noun)}${lacking}` : `${span(at)}: ${plural(counts[at] ?? 0, noun)}`}
      table={{ head: ['Range', noun], rows: counts.map((number, index) => [span(index), count(number)]) }}
      onStep={step}
      onLeave={leave}
      onEnter={onChoose && (() => at !== undefined && onChoose(edge(at), edge(at + 1)))}
    >
      {(width) => {
        const x = scaleLinear([low, high === low ? low + 1 : high], [LEFT, width - 8])
        const wide = (width - 8 - LEFT) / Math.max(1, counts.length)
        return (
          <>
            <YAxis scale={y} x={LEFT} width={width - 8 - LEFT} form={compact} ticks={3} />
            {counts.map((number, index) => (
              <g
                key={edge(index)}
                onPointerEnter={() => point(index)}
                onClick={() => onChoose?.(edge(index), edge(index + 1))}
              >
                <rect className={styles.touch} x={LEFT + wide * index} y={0} width={wide} height={height - 22} />
                <rect
                  className={styles.mark}
                  data-at={at === index || undefined}
                  x={LEFT + wide * index + Math.min(1, wide / 8)}
                  y={number > 0 ? Math.min(y(number), height - 24) : height - 22}
                  width={Math.max(0.5, wide - Math.min(2, wide / 4))}
                  height={number > 0 ? Math.max(2, height - 22 - y(number)) : 0}
                />
              </g>
            ))}
            <XAxis scale={x} y={height - 22} form={tick} />
          </>
        )
      }}
    </Frame>
  )
}
