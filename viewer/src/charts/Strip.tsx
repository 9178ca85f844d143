import { percent, plural } from '../format'
import { Frame } from './Frame'
import { Legend } from './Legend'
import { useReadout } from './useReadout'

/** A part of a whole. */
interface StripPart {
  label: string
  count: number
  /** A CSS colour by its variable: `var(--good)`. */
  colour: string
}

/** Parts of a whole in one line. */
interface StripProps {
  title: string
  parts: readonly StripPart[]
  /** What is counted. */
  noun?: string
  onChoose?: (index: number) => void
}

const HEIGHT = 26

/** A strip: wins, losses and ties of the tasks, outcomes of episodes. */
export function Strip({ title, parts, noun = 'task', onChoose }: StripProps) {
  const { at, point, step, leave } = useReadout(parts.length)
  const total = parts.reduce((sum, part) => sum + part.count, 0)
  const said = (part: StripPart) =>
    `${part.label}: ${plural(part.count, noun)}, ${percent(total ? part.count / total : 0)}`
  return (
    <Frame
      title={title}
      summary={`${title}. ${parts.map(said).join('; ')}`}
      height={HEIGHT}
      readout={at === undefined ? plural(total, noun) : parts[at] && said(parts[at])}
      table={{ head: ['Outcome', noun], rows: parts.map((part) => [part.label, part.count]) }}
      legend={<Legend entries={parts.map((part) => ({ label: `${part.label} ${part.count}`, colour: part.colour }))} />}
      onStep={step}
      onLeave={leave}
      onEnter={onChoose && (() => at !== undefined && onChoose(at))}
    >
      {(width) =>
        placed(parts, total, width).map(({ part, left, wide }, index) => (
          <rect
            key={part.label}
            x={left}
            y={2}
            width={Math.max(0, wide - 1.5)}
            height={HEIGHT - 4}
            rx={2}
            style={{ fill: part.colour, opacity: at === undefined || at === index ? 1 : 0.55 }}
            onPointerEnter={() => point(index)}
            onClick={() => onChoose?.(index)}
          />
        ))
      }
    </Frame>
  )
}

function placed(parts: readonly StripPart[], total: number, width: number) {
  let end = 0
  return parts.map((part) => {
    const left = end
    const wide = total > 0 ? (width * part.count) / total : 0
    end += wide
    return { part, left, wide }
  })
}
