/** The score of a configuration over the commits that it was run at. */

import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { scaleOf } from '../benchmarks/scale'
import axis from '../charts/Axis.module.css'
import { Frame } from '../charts/Frame'
import { Legend } from '../charts/Legend'
import { useReadout } from '../charts/useReadout'
import { YAxis } from '../charts/YAxis'
import { exactTime, interval, measure, plural } from '../format'
import { runName } from '../runs/runName'
import { codeText } from './changes'
import styles from './configuration.module.css'
import { type History, labelled, type Point, type Series } from './history'

interface ConfigurationChartProps {
  history: History
  /** Ids of the two runs that are compared. */
  pair: readonly string[]
  onOpen: (runId: string) => void
}

const HEIGHT = 260
const LEFT = 48
const RIGHT = 24
const BOTTOM = 36
const LABEL = 76
const COLOURS = 8

export function ConfigurationChart({ history, pair, onOpen }: ConfigurationChartProps) {
  const { metric, series, stretches, points } = history
  const { at, point, step, leave } = useReadout(points.length)
  const shown = at === undefined ? undefined : points[at]
  const scale = scaleOf(points.flatMap(({ metric: one }) => [one.value, one.low, one.high]))
  const y = scaleLinear([scale.low, scale.high], [HEIGHT - BOTTOM, 8])
  return (
    <Frame
      title={`${metric} over commits`}
      summary={`${metric} of ${plural(points.length, 'run')} at ${plural(stretches.length, 'commit')}, oldest first`}
      height={HEIGHT}
      readout={shown && said(shown)}
      legend={
        series.length > 1 && <Legend entries={series.map(({ label }, index) => ({ label, colour: colourOf(index) }))} />
      }
      table={numbers(metric, points)}
      onStep={step}
      onLeave={leave}
      onEnter={() => shown && onOpen(shown.run.id)}
    >
      {(width) => {
        const room = Math.max(1, points.length)
        const x = (index: number) => LEFT + ((index + 0.5) * (width - LEFT - RIGHT)) / room
        return (
          <>
            <YAxis scale={y} x={LEFT} width={width - RIGHT - LEFT} form={measure} />
            <line x1={LEFT} x2={width - RIGHT} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} className={axis.axis} />
            {stretches.map(({ first, last }) => (
              <line
                key={first}
                className={styles.stretch}
                x1={x(first) - 4}
                x2={x(last) + 4}
                y1={HEIGHT - BOTTOM}
                y2={HEIGHT - BOTTOM}
              />
            ))}
            {labelled(stretches, x, LABEL).map((one) => (
              <g key={one.first} transform={`translate(${(x(one.first) + x(one.last)) / 2} ${HEIGHT - BOTTOM})`}>
                <title>{one.message}</title>
                <text y={15} textAnchor="middle" className={styles.commit}>
                  {one.label}
                </text>
                <text y={29} textAnchor="middle">
                  {dayOf(one.at)}
                </text>
              </g>
            ))}
            {series.map((one, index) => (
              <Line key={one.key} series={one} index={index} x={x} y={y} pair={pair} active={shown} />
            ))}
            {points.map((one, index) => (
              // biome-ignore lint/a11y/noStaticElementInteractions: the frame around serves the keys
              <circle
                key={one.run.id}
                className={styles.touch}
                cx={x(one.at)}
                cy={y(one.metric.value ?? 0)}
                r={12}
                onPointerEnter={() => point(index)}
                onClick={() => onOpen(one.run.id)}
              />
            ))}
          </>
        )
      }}
    </Frame>
  )
}

interface LineProps {
  series: Series
  index: number
  x: (at: number) => number
  y: (value: number) => number
  pair: readonly string[]
  active: Point | undefined
}

function Line({ series, index, x, y, pair, active }: LineProps) {
  const path = line<Point>(
    ({ at }) => x(at),
    ({ metric }) => y(metric.value ?? 0),
  )
  return (
    <g className={styles.line} style={{ color: colourOf(index) }}>
      <path d={path(series.points) ?? undefined} />
      {series.points.map((one) => {
        const { value, low, high } = one.metric
        const size = one === active || pair.includes(one.run.id) ? 6 : 4
        const [cx, cy] = [x(one.at), y(value ?? 0)]
        return (
          <g key={one.run.id} data-open={one.run.state !== 'finished' || undefined}>
            {low !== null && high !== null && <line x1={cx} x2={cx} y1={y(low)} y2={y(high)} />}
            {index % 2 === 0 ? (
              <circle cx={cx} cy={cy} r={size} />
            ) : (
              <rect x={cx - size} y={cy - size} width={2 * size} height={2 * size} />
            )}
          </g>
        )
      })}
    </g>
  )
}

function colourOf(index: number): string {
  return `var(--series-${(index % COLOURS) + 1})`
}

function dayOf(at: string): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

function said({ run, metric }: Point): string {
  const evaluation = run.request?.evaluation
  const score = `${measure(metric.value)} ${interval(metric.low, metric.high, metric.weak)} n=${metric.n_scored}/${metric.n_planned}`
  return `${evaluation ? codeText(evaluation) : runName(run)}, ${run.model}: ${score}`
}

function numbers(metric: string, points: readonly Point[]) {
  return {
    head: ['Time', 'Run', 'Code', 'Model', metric, 'Interval'],
    rows: points.map(({ run, metric: one }) => [
      exactTime(run.created_at),
      runName(run),
      run.request?.evaluation ? codeText(run.request.evaluation) : '',
      run.model,
      measure(one.value),
      interval(one.low, one.high, one.weak),
    ]),
  }
}
