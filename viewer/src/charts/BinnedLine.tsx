import { type ScaleLinear, scaleLinear } from 'd3-scale'
import { area, line } from 'd3-shape'
import { compact, measure, tick } from '../format'
import styles from './Charts.module.css'
import { Frame } from './Frame'
import { useReadout } from './useReadout'
import { XAxis } from './XAxis'
import { YAxis } from './YAxis'

/** A stretch of positions or of time: its middle value and, when known, the least and the greatest. */
export interface LineBin {
  /** Position or time in the middle of the bin. */
  at: number
  value: number | null
  low?: number | null
  high?: number | null
  /** What it is called in the read-out. */
  label: string
}

/** A value along positions or time. */
interface BinnedLineProps {
  title: string
  bins: readonly LineBin[]
  /** Ends of the vertical scale, when they are not those of the values. */
  domain?: readonly [number, number]
  form?: (value: number) => string
  formX?: (at: number) => string
  /** What stands along the bottom. */
  labelX?: string
  /** A value to compare with: a dashed line. */
  reference?: { value: number; label: string }
  height?: number
  /** Called with the place of a bin that was pressed. */
  onChoose?: (index: number) => void
}

type Scale = ScaleLinear<number, number>

const LEFT = 44

/** A line through the bins with a band from the least to the greatest; gaps where nothing is known. */
export function BinnedLine(props: BinnedLineProps) {
  const { title, bins, domain, form = measure, formX = compact, labelX, reference, height = 180, onChoose } = props
  const bottom = height - (labelX ? 36 : 22)
  const { at, point, step, leave } = useReadout(bins.length)
  const ends = domain ? apart(domain) : endsOf(bins, reference?.value)
  const y = scaleLinear(ends, [bottom, 8])
  const bin = at === undefined ? undefined : bins[at]
  return (
    <Frame
      title={title}
      summary={`${title}: ${bins.length} bins, from ${form(ends[0])} to ${form(ends[1])}`}
      height={height}
      readout={bin && `${bin.label}: ${bin.value === null ? 'no value' : form(bin.value)}${range(bin, form)}`}
      table={{
        head: ['Range', 'Value', 'Low', 'High'],
        rows: bins.map((one) => [
          one.label,
          ...[one.value, one.low, one.high].map((value) => (value == null ? '–' : form(value))),
        ]),
      }}
      onStep={step}
      onLeave={leave}
      onEnter={onChoose && (() => at !== undefined && onChoose(at))}
    >
      {(width) => {
        const first = bins[0]?.at ?? 0
        const last = bins.at(-1)?.at ?? 1
        const x = scaleLinear([first, last === first ? first + 1 : last], [LEFT, width - 8])
        return (
          <g
            onPointerMove={(event) => {
              const left = event.currentTarget.ownerSVGElement?.getBoundingClientRect().left ?? 0
              point(nearestBin(bins, x.invert(event.clientX - left)))
            }}
            onClick={() => at !== undefined && onChoose?.(at)}
          >
            <rect className={styles.touch} width={width} height={height} />
            <YAxis scale={y} x={LEFT} width={width - 8 - LEFT} form={form === measure ? tick : form} />
            <Curve bins={bins} x={x} y={y} />
            {reference && <Reference label={reference.label} at={y(reference.value)} end={width - 8} />}
            {bin && <Cursor bin={bin} x={x} y={y} bottom={bottom} />}
            <XAxis scale={x} y={bottom} form={formX} label={labelX} />
          </g>
        )
      }}
    </Frame>
  )
}

interface Scales {
  x: Scale
  y: Scale
}

/** The band, the line through the middle values, and dots where a line cannot be seen. */
function Curve({ bins, x, y }: Scales & { bins: readonly LineBin[] }) {
  const through = line<LineBin>(
    (one) => x(one.at),
    (one) => y(one.value ?? 0),
  ).defined((one) => one.value !== null)
  const band = area<LineBin>(
    (one) => x(one.at),
    (one) => y(one.low ?? 0),
    (one) => y(one.high ?? 0),
  ).defined((one) => one.low != null && one.high != null)
  return (
    <>
      <path d={band([...bins]) ?? undefined} className={styles.area} />
      <path d={through([...bins]) ?? undefined} className={styles.line} />
      {alone(bins).map((one) => (
        <circle key={one.at} cx={x(one.at)} cy={y(one.value ?? 0)} r={2.5} className={styles.mark} />
      ))}
    </>
  )
}

function Reference({ label, at, end }: { label: string; at: number; end: number }) {
  return (
    <g>
      <line x1={LEFT} x2={end} y1={at} y2={at} className={styles.reference} />
      <text x={end - 2} y={at + (at < 18 ? 13 : -4)} textAnchor="end">
        {label}
      </text>
    </g>
  )
}

function Cursor({ bin, x, y, bottom }: Scales & { bin: LineBin; bottom: number }) {
  return (
    <g>
      <line x1={x(bin.at)} x2={x(bin.at)} y1={8} y2={bottom} className={styles.cursor} />
      {bin.value !== null && <circle cx={x(bin.at)} cy={y(bin.value)} r={3.5} className={styles.mark} data-at />}
    </g>
  )
}

/** The least and the greatest of everything that is drawn. */
function endsOf(bins: readonly LineBin[], reference: number | undefined): [number, number] {
  const values = bins.flatMap((bin) => [bin.value, bin.low, bin.high]).filter((value) => value != null)
  return apart([Math.min(...values, reference ?? Infinity), Math.max(...values, reference ?? -Infinity)])
}

/** Ends that a scale can have: apart from each other, and 0 to 1 where there is nothing. */
function apart([least, greatest]: readonly [number, number]): [number, number] {
  return Number.isFinite(least) ? [least, greatest === least ? least + 1 : greatest] : [0, 1]
}

function range(bin: LineBin, form: (value: number) => string): string {
  return bin.low == null || bin.high == null ? '' : ` [${form(bin.low)}, ${form(bin.high)}]`
}

function nearestBin(bins: readonly LineBin[], at: number): number {
  let best = 0
  for (const [index, bin] of bins.entries()) {
    if (Math.abs(bin.at - at) < Math.abs((bins[best]?.at ?? 0) - at)) best = index
  }
  return best
}

/** Bins between two gaps: a line through one point cannot be seen. */
function alone(bins: readonly LineBin[]): LineBin[] {
  const known = (index: number) => bins[index] !== undefined && bins[index].value !== null
  return bins.filter((_bin, index) => known(index) && !known(index - 1) && !known(index + 1))
}
