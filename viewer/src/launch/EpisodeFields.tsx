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
        label="At once"
        inputMode="numeric"
        hint="Episodes played side by side."
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
            ? 'One for each seed.'
            : most
              ? `${count(most)} at most; more make the interval narrower.`
              : 'More make the interval narrower.'
        }
        value={order.episodes}
        onChange={(episodes) => set({ episodes })}
        problem={seeded ? undefined : problems.episodes}
      />
      <TextField
        label="At once"
        inputMode="numeric"
        hint="Episodes played side by side."
        value={order.parallel}
        onChange={(parallel) => set({ parallel })}
        problem={problems.parallel}
      />
      <TextField
        label="Seeds"
        optional
        placeholder="0, 1, 2 …"
        hint="Such as 0, 3, 10-14."
        spellCheck={false}
        value={order.seeds}
        onChange={(seeds) => set({ seeds })}
        problem={problems.seeds}
      />
    </Row>
  )
}
