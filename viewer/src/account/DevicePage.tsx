import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { put } from '../api/client'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { When } from '../parts/When'
import { writeSearch } from '../search'
import { type Me, nameOf } from '../session/person'
import { useMe } from '../session/useMe'
import { codeWords, deviceWords } from './device'

/** Where one lets a program log in that shows a code: the command line on this machine or another one. */
export function DevicePage() {
  const { code } = useSearch({ from: '/device' })
  const me = useMe()
  if (me === undefined) return <PageSkeleton />
  return (
    <Page title="Log in a program">
      <div className={styles.form}>
        <Step me={me} code={code} />
      </div>
    </Page>
  )
}

function Step({ me, code }: { me: Me; code: string | undefined }) {
  if (me.way === 'open') return <p>This server has no accounts: programs use it without a login.</p>
  if (me.type !== 'member') {
    return (
      <Panel title="Sign in first">
        <div className={styles.stack}>
          <p>The program gets access to the account that you sign in with here.</p>
          <p>
            <LinkButton to="/sign-in" search={{ next: `/device${writeSearch({ code })}` }} look="primary">
              Sign in
            </LinkButton>
          </p>
        </div>
      </Panel>
    )
  }
  return code ? <Question key={code} me={me} code={code} /> : <EnterCode />
}

function EnterCode() {
  const navigate = useNavigate()
  const [code, setCode] = useState('')
  const [tried, setTried] = useState(false)
  return (
    <Panel title="Enter the code">
      <Form
        label="Enter the code"
        onSubmit={() => {
          setTried(true)
          if (code.trim() !== '') void navigate({ to: '/device', search: { code: code.trim() } })
        }}
        actions={
          <Button type="submit" look="primary">
            Continue
          </Button>
        }
      >
        <TextField
          label="Code"
          hint="The program shows it in your terminal."
          placeholder="BCDF-GHJK"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          maxLength={20}
          value={code}
          onChange={setCode}
          problem={tried && code.trim() === '' ? 'Enter the code.' : undefined}
        />
      </Form>
    </Panel>
  )
}

function Question({ me, code }: { me: Me; code: string }) {
  // Asked once: a code that has been used or has expired would count as a wrong one.
  const asks = useQuery({
    ...documentQuery('/api/auth/device/{user_code}', { params: { user_code: code } }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const decide = useMutation({
    mutationFn: (approve: boolean) =>
      put('/api/auth/device/{user_code}', { params: { user_code: code }, body: { approve } }),
  })
  if (decide.isSuccess) return <Outcome approved={decide.variables} />
  if (asks.error) {
    return (
      <Panel title="Enter the code">
        <div className={styles.stack}>
          <Failure error={asks.error} title={`The code ${code} cannot be used`} />
          <p>
            <LinkButton to="/device">Enter another code</LinkButton>
          </p>
        </div>
      </Panel>
    )
  }
  return (
    <Loaded query={asks} title="The program could not be loaded" height="18rem">
      {(login) => (
        <Panel title="Does this program belong to you?">
          <div className={styles.stack}>
            <Facts login={login} code={code} />
            <Warning me={me} login={login} />
            {decide.error && <Failure error={decide.error} title="Your answer could not be saved" />}
            <div className={styles.actions}>
              <Button look="primary" busy={decide.isPending} onClick={() => decide.mutate(true)}>
                Let it log in
              </Button>
              <Button busy={decide.isPending} onClick={() => decide.mutate(false)}>
                Refuse
              </Button>
            </div>
          </div>
        </Panel>
      )}
    </Loaded>
  )
}

type Login = Schema<'DeviceLoginDocument'>

function Facts({ login, code }: { login: Login; code: string }) {
  return (
    <dl className={styles.terms}>
      <dt>Code</dt>
      <dd>
        <strong>
          <code>{codeWords(code)}</code>
        </strong>
      </dd>
      <dt>Program</dt>
      <dd>
        <bdi>{deviceWords({ kind: 'program', label: login.program })}</bdi>
      </dd>
      <dt>Machine</dt>
      <dd>{login.device ? <bdi>{login.device}</bdi> : <span className="muted">not given</span>}</dd>
      <dt>Address</dt>
      <dd>
        <code>{login.address}</code>{' '}
        <span className="muted">{login.same_address ? 'the same as yours' : 'not yours'}</span>
      </dd>
      <dt>Started</dt>
      <dd>
        <When at={login.created_at} />
      </dd>
    </dl>
  )
}

function Warning({ me, login }: { me: Me; login: Login }): ReactNode {
  return (
    <div className={styles.wrong} role="note">
      <strong>Go on only if you started this login yourself, and your terminal shows this code.</strong>
      <span>
        The program will act as <bdi>{nameOf(me)}</bdi>: it reads what you can read, starts runs and changes what is
        yours. Name and machine are what it says of itself. If somebody sent you the code or a link to this page,
        refuse.
        {!login.same_address && ' It calls from another network address than your browser.'}
      </span>
    </div>
  )
}

function Outcome({ approved }: { approved: boolean }) {
  return (
    <Panel title={approved ? 'The program may log in' : 'The program was refused'}>
      <div className={styles.stack} role="status">
        <p>
          {approved
            ? 'Return to your terminal: it goes on within a few seconds. You can close this page.'
            : 'It gets no access to your account. You can close this page.'}
        </p>
        {approved && (
          <p>
            <LinkButton to="/account">End its access under Account</LinkButton>
          </p>
        )}
      </div>
    </Panel>
  )
}
