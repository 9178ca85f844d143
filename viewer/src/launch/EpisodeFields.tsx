import { Row } from '../form/Row'
import { TextField } from '../form/TextField'
import { count } from '../format'
import type { PartProps } from './LaunchForm'

/** How much is played. */
export function EpisodeFields({ request, set, problems, most }: PartProps & { most: number | undefined }) {
  const seeded = request.seeds.trim() !== ''
  if (request.official) {
    return (
      <TextField
        label="Parallel episodes"
        inputMode="numeric"
        hint="Episodes played at the same time."
        value={request.parallel}
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
        value={request.episodes}
        onChange={(episodes) => set({ episodes })}
        problem={seeded ? undefined : problems.episodes}
      />
      <TextField
        label="Parallel episodes"
        inputMode="numeric"
        hint="Episodes played at the same time."
        value={request.parallel}
        onChange={(parallel) => set({ parallel })}
        problem={problems.parallel}
      />
      <TextField
        label="Seeds"
        optional
        placeholder="0, 1, 2 …"
        hint="For example 0, 3, 10-14."
        spellCheck={false}
        value={request.seeds}
        onChange={(seeds) => set({ seeds })}
        problem={problems.seeds}
      />
    </Row>
  )
}
