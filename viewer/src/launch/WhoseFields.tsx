import { usePlatform } from '../api/platform'
import { Choice } from '../form/Choice'
import { SelectField } from '../form/SelectField'
import type { PartProps } from './LaunchForm'

/** Whose the run is, and who may see it; runs of guests are always public. */
export function WhoseFields({ order, set, problems, guest }: PartProps & { guest: boolean }) {
  if (guest)
    return <p className="muted">Runs of guests are public once they have completed, and are kept for a while.</p>
  return (
    <>
      <TeamField order={order} set={set} problems={problems} />
      {order.official ? (
        <p className="muted">An official run is public from the start, and stays so.</p>
      ) : (
        <Choice
          label="Who may see it"
          value={order.visibility}
          onChange={(visibility) => set({ visibility })}
          options={[
            {
              value: 'private',
              label: 'private',
              hint: order.team ? 'you and your team' : 'you alone; you can change that later',
            },
            {
              value: 'gallery_public',
              label: 'public',
              hint: 'everybody, once it has completed: it counts for the leaderboard and stands in the gallery; prompts and reasoning stay hidden',
            },
          ]}
        />
      )}
    </>
  )
}

function TeamField({ order, set, problems }: PartProps) {
  const teams = usePlatform('/v1/teams')
  if (teams.data === undefined || (teams.data.length === 0 && order.team === '')) return null
  return (
    <SelectField
      label="Belongs to"
      value={order.team}
      onChange={(team) => set({ team })}
      problem={problems.team}
      options={[
        { value: '', label: 'me alone' },
        ...teams.data.map((team) => ({ value: team.team_id, label: team.name })),
      ]}
    />
  )
}
