import { useDocument } from '../api/query'
import { Choice } from '../form/Choice'
import { SelectField } from '../form/SelectField'
import type { PartProps } from './LaunchForm'

/** Whose the run is, and who may see it; runs of guests are always public. */
export function WhoseFields({ request, set, problems, guest }: PartProps & { guest: boolean }) {
  if (guest)
    return <p className="muted">Guest runs are public once they have completed, and are deleted after a few days.</p>
  return (
    <>
      <TeamField request={request} set={set} problems={problems} />
      {request.official ? (
        <p className="muted">Official runs are always public.</p>
      ) : (
        <Choice
          label="Visibility"
          value={request.visibility}
          onChange={(visibility) => set({ visibility })}
          options={[
            {
              value: 'private',
              label: 'private',
              hint: request.team ? 'you and your team' : 'only you; you can change this later',
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

function TeamField({ request, set, problems }: PartProps) {
  const teams = useDocument('/api/teams')
  if (teams.data === undefined || (teams.data.length === 0 && request.team === '')) return null
  return (
    <SelectField
      label="Owner"
      value={request.team}
      onChange={(team) => set({ team })}
      problem={problems.team}
      options={[{ value: '', label: 'me' }, ...teams.data.map((team) => ({ value: team.team_id, label: team.name }))]}
    />
  )
}
