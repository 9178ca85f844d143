import { useDocument } from '../api/query'
import { Choice } from '../form/Choice'
import { SelectField } from '../form/SelectField'
import type { PartProps } from './LaunchForm'

/** Whose the run is, and who may see it; runs of guests are always public. */
export function WhoseFields({ order, set, problems, guest }: PartProps & { guest: boolean }) {
  if (guest)
    return <p className="muted">Guest runs are public once they have completed, and are deleted after some time.</p>
  return (
    <>
      <TeamField order={order} set={set} problems={problems} />
      {order.official ? (
        <p className="muted">Official runs are always public.</p>
      ) : (
        <Choice
          label="Visibility"
          value={order.visibility}
          onChange={(visibility) => set({ visibility })}
          options={[
            {
              value: 'private',
              label: 'private',
              hint: order.team ? 'you and your team' : 'only you; you can change this later',
            },
            {
              value: 'gallery_public',
              label: 'public',
              hint: 'everyone, once it has completed: it appears in the gallery and on the leaderboard; prompts and reasoning stay hidden',
            },
          ]}
        />
      )}
    </>
  )
}

function TeamField({ order, set, problems }: PartProps) {
  const teams = useDocument('/api/teams')
  if (teams.data === undefined || (teams.data.length === 0 && order.team === '')) return null
  return (
    <SelectField
      label="Owner"
      value={order.team}
      onChange={(team) => set({ team })}
      problem={problems.team}
      options={[{ value: '', label: 'me' }, ...teams.data.map((team) => ({ value: team.team_id, label: team.name }))]}
    />
  )
}
