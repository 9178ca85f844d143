import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'

const CODE = /^[A-Z0-9]{4,8}$/

/** A field for the code of a team. */
export function JoinTeam({ code: given }: { code: string }) {
  const [code, setCode] = useState(given.toUpperCase())
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const { mutate, isPending, error } = useChange(() => post('/api/teams/join', { body: { code } }), {
    silent: true,
    after: (team) => void navigate({ to: '/teams/$teamId', params: { teamId: team.team_id } }),
  })
  const wrong = tried && !CODE.test(code) ? 'Enter a code of 4 to 8 letters and digits.' : undefined
  const told = error instanceof ApiError && error.status === 422 ? error.message : undefined
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (CODE.test(code)) mutate(undefined)
      }}
      error={told ? undefined : error}
      title="You could not join the team"
      actions={
        <Button type="submit" busy={isPending}>
          Join
        </Button>
      }
    >
      <TextField
        label="Code"
        hint="The owner of the team can find it on the team's page."
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={12}
        value={code}
        onChange={(typed) => setCode(typed.trim().toUpperCase())}
        problem={wrong ?? told}
      />
    </Form>
  )
}
