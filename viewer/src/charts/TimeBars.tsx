import { scaleLinear, scaleTime } from 'd3-scale'
import { compact, exactTime } from '../format'
import styles from './Charts.module.css'
import { Frame } from './Frame'
import { Legend } from './Legend'
import { timeTick } from './timeTick'
import { useReadout } from './useReadout'
import { XAxis } from './XAxis'
import { YAxis } from './YAxis'

/** What one colour stands for. */
interface Layer {
  label: string
  /** A CSS colour by its variable: `var(--series-1)`. */
  colour: string
  values: readonly (number | null)[]
}

/** Amounts over time. */
interface TimeBarsProps {
  title: string
  /** Beginning of each bar, ISO. */
  at: readonly string[]
  /** Length of a bar in seconds. */
  seconds: number
  /** Stacked from the bottom. */
  layers: readonly Layer[]
  form?: (value: number) => string
  height?: number
}

const LEFT = 48

/** Stacked bars over time. */
export function TimeBars({ title, at: starts, seconds, layers, form = compact, height = 160 }: TimeBarsProps) {
  const { at, point, step, leave } = useReadout(starts.length)
  const times = starts.map((start) => new Date(start))
  const sums = times.map((_time, index) => layers.reduce((sum, layer) => sum + (layer.values[index] ?? 0), 0))
  const y = scaleLinear([0, Math.max(...sums, 0) || 1], [height - 22, 8]).nice(3)
  const said = (index: number) => layers.map((layer) => `${form(layer.values[index] ?? 0)} ${layer.label}`).join(', ')
  const total = sums.reduce((sum, one) => sum + one, 0)
  return (
    <Frame
      title={title}
      summary={`${title}: ${form(total)} in total, in ${times.length} bars`}
      height={height}
      readout={at === undefined ? undefined : `${clock(times[at])}: ${said(at)}`}
      table={{
        head: ['From', ...layers.map((layer) => layer.label)],
        rows: starts.map((start, index) => [
          exactTime(start),
          ...layers.map((layer) => form(layer.values[index] ?? 0)),
        ]),
      }}
      legend={layers.length > 1 && <Legend entries={layers} />}
      onStep={step}
      onLeave={leave}
    >
      {(width) => {
        const first = times[0] ?? new Date(0)
        const end = new Date((times.at(-1) ?? first).getTime() + seconds * 1000)
        const x = scaleTime([first, end], [LEFT, width - 8])
        const wide = Math.max(1, x(first.getTime() + seconds * 1000) - x(first))
        return (
          <>
            <YAxis scale={y} x={LEFT} width={width - 8 - LEFT} form={form} ticks={3} />
            {times.map((time, index) => (
              <g key={time.getTime()} onPointerEnter={() => point(index)}>
                <rect className={styles.touch} x={x(time)} y={0} width={wide} height={height - 22} />
                {stacked(layers, index).map(({ layer, from, to }) => (
                  <rect
                    key={layer.label}
                    x={x(time) + Math.min(0.5, wide / 8)}
                    y={y(to)}
                    width={Math.max(0.75, wide - Math.min(1, wide / 4))}
                    height={Math.max(0, y(from) - y(to))}
                    style={{ fill: layer.colour, opacity: at === undefined || at === index ? 1 : 0.6 }}
                  />
                ))}
              </g>
            ))}
            <XAxis scale={x} y={height - 22} form={timeTick} />
          </>
        )
      }}
    </Frame>
  )
}

function stacked(layers: readonly Layer[], index: number) {
  let top = 0
  return layers.map((layer) => {
    const from = top
    top += layer.values[index] ?? 0
    return { layer, from, to: top }
  })
}

function clock(time: Date | undefined): string {
  return time === undefined ? '' : time.toLocaleTimeString('en-GB')
}
