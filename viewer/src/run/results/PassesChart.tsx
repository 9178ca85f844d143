/** pass@k and pass^k over k, each as a line with the band of its interval. */

import { scaleLinear } from 'd3-scale'
import { area, line } from 'd3-shape'
import { Frame } from '../../charts/Frame'
import { Legend } from '../../charts/Legend'
import { useReadout } from '../../charts/useReadout'
import { type Scale, XAxis } from '../../charts/XAxis'
import { YAxis } from '../../charts/YAxis'
import { interval, measure, tick } from '../../format'
import styles from './PassesChart.module.css'
import type { Chance, Passes } from './types'

const HEIGHT = 170
const BOTTOM = 22
const LEFT = 34

const LINES = [
  { id: 'one', label: 'pass@k', colour: 'var(--series-1)', of: (at: Passes): Chance => at.pass_at_k },
  { id: 'all', label: 'pass^k', colour: 'var(--series-2)', of: (at: Passes): Chance => at.pass_hat_k },
] as const

export function PassesChart({ passes }: { passes: readonly Passes[] }) {
  const { at, point, step, leave } = useReadout(passes.length)
  const shown = at === undefined ? undefined : passes[at]
  return (
    <Frame
      title="By number of trials"
      summary={passes.map(said).join('; ')}
      height={HEIGHT}
      readout={shown && said(shown)}
      table={{
        head: ['k', 'pass@k', 'its interval', 'pass^k', 'the interval of that'],
        rows: passes.map(({ k, pass_at_k: one, pass_hat_k: every }) => [
          k,
          measure(one.value),
          interval(one.low, one.high, one.weak),
          measure(every.value),
          interval(every.low, every.high, every.weak),
        ]),
      }}
      onStep={step}
      onLeave={leave}
      legend={<Legend entries={LINES.map(({ label, colour }) => ({ label, colour }))} />}
    >
      {(width) => <Drawing passes={passes} width={width} at={shown} onPoint={point} />}
    </Frame>
  )
}

interface DrawingProps {
  passes: readonly Passes[]
  width: number
  at: Passes | undefined
  onPoint: (index: number) => void
}

function Drawing({ passes, width, at, onPoint }: DrawingProps) {
  const ks = passes.map(({ k }) => k)
  const x = scaleLinear([Math.min(...ks), Math.max(...ks)], [LEFT + 8, width - 12])
  const y = scaleLinear([0, 1], [HEIGHT - BOTTOM, 8])
  const wide = passes.length > 1 ? (width - LEFT) / passes.length : width
  return (
    <>
      <YAxis scale={y} x={LEFT} width={width - 12 - LEFT} form={tick} />
      {LINES.map(({ id, of }) => {
        const known = passes.filter((one) => of(one).value !== null)
        const band = area<Passes>(
          ({ k }) => x(k),
          (one) => y(of(one).low ?? 0),
          (one) => y(of(one).high ?? 0),
        ).defined((one) => of(one).low !== null && of(one).high !== null)
        const path = line<Passes>(
          ({ k }) => x(k),
          (one) => y(of(one).value ?? 0),
        )
        return (
          <g key={id} className={styles.line} data-line={id}>
            <path className={styles.band} d={band(known) ?? undefined} />
            <path className={styles.path} d={path(known) ?? undefined} />
            {known.map((one) => (
              <circle key={one.k} cx={x(one.k)} cy={y(of(one).value ?? 0)} r={one === at ? 5 : 3} />
            ))}
          </g>
        )
      })}
      {passes.map(({ k }, index) => (
        <rect
          key={k}
          className={styles.touch}
          x={x(k) - wide / 2}
          width={wide}
          height={HEIGHT}
          onPointerEnter={() => onPoint(index)}
        />
      ))}
      <XAxis scale={whole(x)} y={HEIGHT - BOTTOM} form={(k) => `k = ${k}`} />
    </>
  )
}

/** The scale with ticks at whole numbers of tries only. */
function whole(scale: ReturnType<typeof scaleLinear<number>>): Scale<number> {
  return Object.assign((value: number) => scale(value), {
    ticks: (amount?: number) => scale.ticks(amount).filter(Number.isInteger),
    range: () => scale.range(),
  })
}

function said({ k, pass_at_k: one, pass_hat_k: every }: Passes): string {
  const words = ({ value, low, high, weak }: Chance) => `${measure(value)} ${interval(low, high, weak)}`.trim()
  return `pass@${k} ${words(one)}, pass^${k} ${words(every)}`
}
