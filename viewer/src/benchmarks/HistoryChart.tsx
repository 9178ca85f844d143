/** Scores over time: all models in grey, the followed one in colour with its intervals. */

import { scaleLinear, scaleTime } from 'd3-scale'
import { line } from 'd3-shape'
import { Frame } from '../charts/Frame'
import { timeTick } from '../charts/timeTick'
import { useReadout } from '../charts/useReadout'
import { XAxis } from '../charts/XAxis'
import { YAxis } from '../charts/YAxis'
import { exactTime, interval, measure } from '../format'
import { modelText } from '../runs/model'
import styles from './HistoryChart.module.css'
import type { Line, Reading } from './history'
import { scaleOf } from './scale'

interface HistoryChartProps {
  metric: string
  /** Digest of the newest content: runs on another one are hollow. */
  digest: string
  lines: readonly Line[]
  /** Key of the followed line. */
  followed: string | undefined
  onOpen: (runId: string) => void
}

const HEIGHT = 240
const LEFT = 48
const BOTTOM = 22

export function HistoryChart({ metric, digest, lines, followed, onOpen }: HistoryChartProps) {
  const readings = lines
    .flatMap((one) => one.readings)
    .sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at))
  const { at, point, step, leave } = useReadout(readings.length)
  const scale = scaleOf(readings.flatMap(({ value, low, high }) => [value, low, high]))
  const y = scaleLinear([scale.low, scale.high], [HEIGHT - BOTTOM, 8])
  const shown = at === undefined ? undefined : readings[at]
  return (
    <Frame
      title={`${metric} of every finished run`}
      summary={`${readings.length} finished runs of ${lines.length} models over time`}
      height={HEIGHT}
      readout={shown && said(shown, digest)}
      table={numbers(metric, readings, digest)}
      onStep={step}
      onLeave={leave}
      onEnter={() => shown && onOpen(shown.run_id)}
    >
      {(width) => {
        const x = timeScale(readings, width)
        const place = (one: Reading) => x(new Date(one.created_at))
        const path = line<Reading>(place, (one) => y(one.value ?? 0))
        return (
          <>
            <YAxis scale={y} x={LEFT} width={width - 12 - LEFT} form={measure} />
            {lines.map((one) => (
              <g key={one.key} className={styles.line} data-followed={one.key === followed || undefined}>
                <path d={path(one.readings) ?? undefined} />
                {one.readings.map((reading) => (
                  <Point
                    key={reading.run_id}
                    reading={reading}
                    x={place(reading)}
                    y={y}
                    active={reading === shown}
                    older={reading.benchmark_digest !== digest}
                  />
                ))}
              </g>
            ))}
            {readings.map((one, index) => (
              // biome-ignore lint/a11y/noStaticElementInteractions: the frame around serves the keys
              <circle
                key={one.run_id}
                className={styles.touch}
                cx={place(one)}
                cy={y(one.value ?? 0)}
                r={10}
                onPointerEnter={() => point(index)}
                onClick={() => onOpen(one.run_id)}
              />
            ))}
            <XAxis scale={x} y={HEIGHT - BOTTOM} form={timeTick} />
          </>
        )
      }}
    </Frame>
  )
}

function numbers(metric: string, readings: readonly Reading[], digest: string) {
  return {
    head: ['Time', 'Model', 'Agent', metric, 'Interval', 'Content'],
    rows: readings.map((one) => [
      exactTime(one.created_at),
      modelText(one.model),
      one.agent,
      measure(one.value),
      interval(one.low, one.high, one.weak),
      one.benchmark_digest === digest ? 'newest' : 'older',
    ]),
  }
}

function Point({
  reading,
  x,
  y,
  active,
  older,
}: {
  reading: Reading
  x: number
  y: (value: number) => number
  active: boolean
  older: boolean
}) {
  const { value, low, high } = reading
  return (
    <g data-active={active || undefined} data-older={older || undefined}>
      {low !== null && high !== null && <line x1={x} x2={x} y1={y(low)} y2={y(high)} />}
      <circle cx={x} cy={y(value ?? 0)} r={active ? 5 : 3.5} />
    </g>
  )
}

/** Time with some room at both ends, so that a single moment lies in the middle. */
function timeScale(readings: readonly Reading[], width: number) {
  const times = readings.map(({ created_at }) => Date.parse(created_at))
  const first = Math.min(...times)
  const last = Math.max(...times)
  const room = Math.max((last - first) * 0.03, 1_000)
  return scaleTime([new Date(first - room), new Date(last + room)], [LEFT, width - 12])
}

function said(reading: Reading, digest: string): string {
  const { created_at, model, agent, value, low, high, weak, n_scored, n_planned } = reading
  const score = `${measure(value)} ${interval(low, high, weak)} n=${n_scored}/${n_planned}`
  return `${modelText(model)} with ${agent}, ${exactTime(created_at).slice(0, 16)}: ${score}${reading.benchmark_digest === digest ? '' : ', older content'}`
}
