import { Row } from '../form/Row'
import { TextField } from '../form/TextField'
import { count } from '../format'
import type { PartProps } from './LaunchForm'

/** How much is played. */
export function EpisodeFields({ order, set, problems, most }: PartProps & { most: number | undefined }) {
  const seeded = order.seeds.trim() !== ''
  if (order.official) {
    return (
      <TextField
        label="Parallel episodes"
        inputMode="numeric"
        hint="Episodes played at the same time."
        value={order.parallel}
        onChange={(parallel) => set({ parallel })}
        problem={problems.parallel}
      />
    )
  }
  return (
    <Row>
      <TextField
        label="Episodes"
        inputMode="numeric"
        disabled={seeded}
        hint={
          seeded
            ? 'One per seed.'
            : most
              ? `At most ${count(most)}. More episodes give a narrower interval.`
              : 'More episodes give a narrower interval.'
        }
        value={order.episodes}
        onChange={(episodes) => set({ episodes })}
        problem={seeded ? undefined : problems.episodes}
      />
      <TextField
        label="Parallel episodes"
        inputMode="numeric"
        hint="Episodes played at the same time."
        value={order.parallel}
        onChange={(parallel) => set({ parallel })}
        problem={problems.parallel}
      />
      <TextField
        label="Seeds"
        optional
        placeholder="0, 1, 2 …"
        hint="For example 0, 3, 10-14."
        spellCheck={false}
        value={order.seeds}
        onChange={(seeds) => set({ seeds })}
        problem={problems.seeds}
      />
    </Row>
  )
}
