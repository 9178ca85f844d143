import { type ScaleLinear, scaleLinear } from 'd3-scale'
import { compact, percent, plural } from '../format'
import styles from './Charts.module.css'
import { Frame } from './Frame'
import { Legend } from './Legend'
import { useReadout } from './useReadout'
import { XAxis } from './XAxis'

/** One of the two groups. */
interface Side {
  label: string
  counts: readonly number[]
  median: number
  /** A CSS colour by its variable: `var(--good)`. */
  colour: string
}

/** How one quantity is spread over two groups, in the same equal bins from `low` to `high`. */
interface ContrastProps {
  title: string
  low: number
  high: number
  above: Side
  below: Side
  noun?: string
  height?: number
}

const LEFT = 8

/**
 * Two histograms back to back: one group stands, the other hangs, each as shares of itself, so that groups of different
 * size can be compared. A line marks the median of each.
 */
export function Contrast({ title, low, high, above, below, noun = 'episode', height = 180 }: ContrastProps) {
  const slots = above.counts.length
  const { at, point, step, leave } = useReadout(slots)
  const middle = (height - 22) / 2 + 4
  const sides = [above, below]
  const totals = sides.map(({ counts }) => counts.reduce((sum, one) => sum + one, 0))
  const most = Math.max(...sides.flatMap(({ counts }, side) => counts.map((one) => one / (totals[side] || 1))))
  const tall = scaleLinear([0, most || 1], [0, middle - 8])
  const edge = (index: number) => low + ((high - low) * index) / slots
  // Whole numbers with a bin each are called by their number.
  const span = (index: number) =>
    high - low + 1 === slots ? compact(low + index) : `${compact(edge(index))} to ${compact(edge(index + 1))}`
  const said = (index: number) =>
    sides
      .map(({ label, counts }, side) => {
        const some = counts[index] ?? 0
        return `${plural(some, noun)} ${label} (${percent(some / (totals[side] || 1))})`
      })
      .join(', ')
  const medians = sides.map(({ label, median }) => `${label} ${compact(median)}`).join(', ')
  return (
    <Frame
      title={title}
      summary={`${title}. Median: ${medians}`}
      height={height}
      readout={at === undefined ? `median: ${medians}` : `${span(at)}: ${said(at)}`}
      table={{
        head: ['Range', above.label, below.label],
        rows: above.counts.map((some, index) => [span(index), some, below.counts[index] ?? 0]),
      }}
      legend={
        <Legend
          entries={sides.map(({ label, colour }, side) => ({
            label: `${label}, ${plural(totals[side] ?? 0, noun)}`,
            colour,
          }))}
        />
      }
      onStep={step}
      onLeave={leave}
    >
      {(width) => {
        const x = scaleLinear([low, high], [LEFT, width - 8])
        const wide = (width - 8 - LEFT) / slots
        return (
          <>
            {above.counts.map((_, index) => (
              <g key={edge(index)} onPointerEnter={() => point(index)}>
                <rect className={styles.touch} x={LEFT + wide * index} y={0} width={wide} height={height - 22} />
                {sides.map(({ label, counts, colour }, side) => {
                  const share = tall((counts[index] ?? 0) / (totals[side] || 1))
                  return (
                    <rect
                      key={label}
                      x={LEFT + wide * index + Math.min(1, wide / 8)}
                      y={side === 0 ? middle - share : middle}
                      width={Math.max(0.5, wide - Math.min(2, wide / 4))}
                      height={share > 0 ? Math.max(1, share) : 0}
                      style={{ fill: colour, opacity: at === undefined || at === index ? 0.8 : 0.5 }}
                    />
                  )
                })}
              </g>
            ))}
            <line x1={LEFT} x2={width - 8} y1={middle} y2={middle} className={styles.cursor} />
            <Median x={x} at={above.median} from={8} to={middle} />
            <Median x={x} at={below.median} from={middle} to={height - 22} />
            <XAxis scale={x} y={height - 22} form={compact} />
          </>
        )
      }}
    </Frame>
  )
}

function Median({ x, at, from, to }: { x: ScaleLinear<number, number>; at: number; from: number; to: number }) {
  return <line x1={x(at)} x2={x(at)} y1={from} y2={to} className={styles.interval} strokeDasharray="3 2" />
}
