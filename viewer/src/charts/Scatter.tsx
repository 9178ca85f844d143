import { type ScaleLinear, scaleLinear } from 'd3-scale'
import { measure, tick } from '../format'
import styles from './Charts.module.css'
import { Frame } from './Frame'
import { useReadout } from './useReadout'
import { XAxis } from './XAxis'
import { YAxis } from './YAxis'

/** A point of the plane. */
interface ScatterPoint {
  x: number
  y: number
  label: string
  tone?: 'better' | 'worse'
  /** How many things stand at this place; a larger dot. */
  weight?: number
}

/** Points of two measurements. */
interface ScatterProps {
  title: string
  points: readonly ScatterPoint[]
  labelX: string
  labelY: string
  domain?: readonly [number, number]
  /** A line where both are equal. */
  diagonal?: boolean
  formX?: (value: number) => string
  /** Whether each point has its label beside it; for a few. */
  named?: boolean
  height?: number
  onChoose?: (index: number) => void
}

type Scale = ScaleLinear<number, number>

const MOST = 2_000
const LEFT = 48
const BOTTOM = 36
const REACH = 24

/** A scatter plot with the same scale on both sides when `domain` is given; at most 2,000 points are drawn. */
export function Scatter(props: ScatterProps) {
  const {
    title,
    labelX,
    labelY,
    domain,
    diagonal = false,
    formX = measure,
    named = false,
    height = 320,
    onChoose,
  } = props
  const points = props.points.slice(0, MOST)
  const { at, point, step, leave } = useReadout(points.length)
  const ends = named ? roomy : endsOf
  const [left, right] = domain ?? ends(points.map((one) => one.x))
  const y = scaleLinear(domain ?? ends(points.map((one) => one.y)), [height - BOTTOM, 8])
  const shown = at === undefined ? undefined : points[at]
  const said = (one: ScatterPoint) => `${one.label}: ${labelX} ${formX(one.x)}, ${labelY} ${measure(one.y)}`
  return (
    <Frame
      title={title}
      summary={`${title}: ${points.length} points of ${labelX} and ${labelY}`}
      height={height}
      readout={shown && said(shown)}
      table={{ head: ['Task', labelX, labelY], rows: points.map((one) => [one.label, formX(one.x), measure(one.y)]) }}
      onStep={step}
      onLeave={leave}
      onEnter={onChoose && (() => at !== undefined && onChoose(at))}
    >
      {(width) => {
        const x = scaleLinear([left, right], [LEFT, width - 12])
        return (
          <g
            onPointerMove={(event) => {
              const box = event.currentTarget.ownerSVGElement?.getBoundingClientRect()
              if (box) point(nearestPoint(points, x, y, event.clientX - box.left, event.clientY - box.top))
            }}
            onClick={() => at !== undefined && onChoose?.(at)}
          >
            <rect className={styles.touch} width={width} height={height} />
            <YAxis scale={y} x={LEFT} width={width - 12 - LEFT} form={tick} />
            {diagonal && domain && <Diagonal x={x} y={y} ends={domain} />}
            <Points points={points} x={x} y={y} shown={shown} />
            {named && <Names points={points} x={x} y={y} end={width - 12} />}
            <XAxis scale={x} y={height - BOTTOM} form={formX === measure ? tick : formX} label={labelX} />
            <text transform={`translate(11 ${(height - BOTTOM) / 2}) rotate(-90)`} textAnchor="middle">
              {labelY}
            </text>
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

function Diagonal({ x, y, ends: [from, to] }: Scales & { ends: readonly [number, number] }) {
  return <line x1={x(from)} y1={y(from)} x2={x(to)} y2={y(to)} className={styles.reference} />
}

function Points({ points, x, y, shown }: Scales & { points: readonly ScatterPoint[]; shown?: ScatterPoint }) {
  const heaviest = Math.max(1, ...points.map((one) => one.weight ?? 1))
  const radius = (one: ScatterPoint) => 3.5 + 9 * Math.sqrt(((one.weight ?? 1) - 1) / heaviest)
  return (
    <>
      {points.map((one, index) => (
        <circle
          // biome-ignore lint/suspicious/noArrayIndexKey: two points may have the same label
          key={`${one.label} ${index}`}
          cx={x(one.x)}
          cy={y(one.y)}
          r={radius(one)}
          className={styles.point}
          data-tone={one.tone}
        />
      ))}
      {shown && <circle cx={x(shown.x)} cy={y(shown.y)} r={radius(shown) + 1} className={styles.point} data-at />}
    </>
  )
}

function Names({ points, x, y, end }: Scales & { points: readonly ScatterPoint[]; end: number }) {
  return points.map((one) => {
    const left = x(one.x) > end / 2
    const name = one.label.length > 24 ? `${one.label.slice(0, 23)}…` : one.label
    return (
      <text
        key={one.label}
        x={x(one.x) + (left ? -8 : 8)}
        y={y(one.y)}
        dy={y(one.y) < 16 ? '1em' : '0.32em'}
        textAnchor={left ? 'end' : 'start'}
        className={styles.name}
      >
        {name}
      </text>
    )
  })
}

/** The point that is nearest to a place of the drawing, unless all are far from it. */
function nearestPoint(points: readonly ScatterPoint[], x: Scale, y: Scale, px: number, py: number): number | undefined {
  const far = points.map((one) => Math.hypot(x(one.x) - px, y(one.y) - py))
  const best = far.indexOf(Math.min(...far))
  return (far[best] ?? Infinity) <= REACH ? best : undefined
}

/** The same with room for a name at each point. */
function roomy(values: readonly number[]): [number, number] {
  const [least, greatest] = endsOf(values)
  const room = (greatest - least) / 8
  return [least >= 0 ? Math.max(0, least - room) : least - room, greatest + room]
}

function endsOf(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1]
  const [least, greatest] = [Math.min(...values), Math.max(...values)]
  return least === greatest ? [least - 0.5, greatest + 0.5] : [least, greatest]
}
