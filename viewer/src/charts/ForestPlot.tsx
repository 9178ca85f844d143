import { scaleLinear } from 'd3-scale'
import { interval, measure, signed, tick } from '../format'
import styles from './Charts.module.css'
import { Frame } from './Frame'
import { useReadout } from './useReadout'
import { XAxis } from './XAxis'

/** A value with its interval; the tone is also said by a word beside it. */
export interface ForestRow {
  label: string
  value: number | null
  low: number | null
  high: number | null
  weak?: boolean
  tone?: 'better' | 'worse' | 'tie'
  /** A short word at the right: winner, tie, n=. */
  note?: string
}

/** Values with intervals under each other. */
interface ForestPlotProps {
  title: string
  rows: readonly ForestRow[]
  /** A line at zero and signs on the numbers: the values are differences. */
  differences?: boolean
  /** Ends of the scale, when they are not those of the intervals. */
  domain?: readonly [number, number]
  onChoose?: (index: number) => void
}

const ROW = 30
const WORDS = { better: 'better', worse: 'worse', tie: 'tie' } as const

/** A forest plot: one row per value, the interval as a line, the value as a square. */
export function ForestPlot({ title, rows, differences = false, domain, onChoose }: ForestPlotProps) {
  const { at, point, step, leave } = useReadout(rows.length)
  const form = differences ? signed : measure
  const height = rows.length * ROW + 26
  const said = (row: ForestRow) =>
    `${row.label}: ${form(row.value)} ${interval(row.low, row.high, row.weak)} ${wordOf(row)}`.trim()
  const [least, greatest] = domain ?? endsOf(rows, differences)
  return (
    <Frame
      title={title}
      summary={`${title}. ${rows.slice(0, 20).map(said).join('; ')}`}
      height={height}
      readout={at === undefined ? undefined : rows[at] && said(rows[at])}
      table={{
        head: ['Run', 'Value', 'Low', 'High', 'Result'],
        rows: rows.map((row) => [row.label, form(row.value), form(row.low), form(row.high), wordOf(row)]),
      }}
      onStep={step}
      onLeave={leave}
      onEnter={onChoose && (() => at !== undefined && onChoose(at))}
    >
      {(width) => {
        const left = Math.min(220, width * 0.36)
        const right = width - Math.min(110, width * 0.22)
        const x = scaleLinear([least, greatest], [left, right]).nice(4).clamp(true)
        return (
          <>
            {differences && <line x1={x(0)} x2={x(0)} y1={0} y2={height - 26} className={styles.zero} />}
            {rows.map((row, index) => (
              <g
                // biome-ignore lint/suspicious/noArrayIndexKey: two rows may have the same label
                key={`${row.label} ${index}`}
                transform={`translate(0 ${index * ROW})`}
                onPointerEnter={() => point(index)}
                onClick={() => onChoose?.(index)}
              >
                <rect className={at === index ? styles.band : styles.touch} width={width} height={ROW} />
                <text x={0} y={ROW / 2} dy="0.35em" className={styles.name}>
                  {short(row.label, left)}
                </text>
                <Estimate row={row} x={x} />
                <text x={width} y={ROW / 2} dy="0.35em" textAnchor="end">
                  {row.note ?? form(row.value)}
                </text>
              </g>
            ))}
            <XAxis scale={x} y={height - 26} form={(at) => (differences && at > 0 ? `+${tick(at)}` : tick(at))} />
          </>
        )
      }}
    </Frame>
  )
}

/** The interval as a line, the value as a square on it. */
function Estimate({ row, x }: { row: ForestRow; x: (value: number) => number }) {
  return (
    <>
      {row.low !== null && row.high !== null && (
        <line
          x1={x(row.low)}
          x2={x(row.high)}
          y1={ROW / 2}
          y2={ROW / 2}
          className={styles.interval}
          data-tone={row.tone}
        />
      )}
      {row.value !== null && (
        <rect x={x(row.value) - 4} y={ROW / 2 - 4} width={8} height={8} className={styles.dot} data-tone={row.tone} />
      )}
    </>
  )
}

function wordOf(row: ForestRow): string {
  return row.tone ? WORDS[row.tone] : ''
}

function endsOf(rows: readonly ForestRow[], differences: boolean): [number, number] {
  const values = rows.flatMap((row) => [row.value, row.low, row.high]).filter((value) => value !== null)
  if (differences) values.push(0)
  if (values.length === 0) return [0, 1]
  const [least, greatest] = [Math.min(...values), Math.max(...values)]
  return least === greatest ? [least - 0.5, greatest + 0.5] : [least, greatest]
}

function short(label: string, width: number): string {
  const fits = Math.max(4, Math.floor(width / 6.6))
  return label.length > fits ? `${label.slice(0, fits - 1)}…` : label
}
