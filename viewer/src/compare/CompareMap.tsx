import { Scatter } from '../charts/Scatter'
import { plural } from '../format'
import type { Label } from './CompareLabels'
import { CompareQuads } from './CompareQuads'
import { isBinary, placesOf } from './CompareTasks'
import { type Direction, domainOf, type Pair } from './CompareVerdict'

/** Two runs and the direction of the metric. */
interface CompareMapProps {
  pair: Pair
  a: Label
  b: Label
  direction: Direction
}

/** Where the tasks lie: four fields when they pass or fail, else a plane in which larger dots are more tasks. */
export function CompareMap({ pair, a, b, direction }: CompareMapProps) {
  const places = placesOf(pair, direction)
  if (places.length === 0) return null
  if (isBinary(pair)) return <CompareQuads pair={pair} a={a} b={b} />
  return (
    <Scatter
      title={`Score of each task; ${b.letter} is higher above the line`}
      points={places.map(({ label, n, ...place }) => ({ ...place, weight: n, label: label || plural(n, 'task') }))}
      labelX={a.letter}
      labelY={b.letter}
      domain={domainOf(places.flatMap(({ x, y }) => [x, y]))}
      diagonal
    />
  )
}
