import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { source } from '../api/source'
import { Command } from '../parts/Command'
import { Page } from '../parts/Page'
import { place } from '../place'
import styles from './EmptyRuns.module.css'

const COMMANDS = [
  [
    'mesocosm demo',
    'Plays a small example with a random agent and with its oracle. Takes a few seconds, needs no model.',
  ],
  ['mesocosm init my-environment', 'Makes an environment of your own that runs at once.'],
  [
    'mesocosm run local --model openai/my-model@http://127.0.0.1:8000/v1 --episodes 20',
    'Runs the environment of this directory on a model of yours.',
  ],
  ['mesocosm import replay.json', 'Brings in runs that were recorded elsewhere.'],
] as const

/** The home of a store without runs: what to run. It fills by itself when the first run begins. */
export function EmptyRuns({ waiting, onArrival }: { waiting: boolean; onArrival: () => void }) {
  useEffect(() => {
    if (waiting) onArrival()
  }, [waiting, onArrival])
  return (
    <Page title="Runs">
      <section className={styles.empty} aria-labelledby="nothing-yet">
        <h2 id="nothing-yet">No runs yet</h2>
        {place.mode === 'platform' ? (
          <FirstRun />
        ) : source.live ? (
          <Commands />
        ) : (
          <p className="muted">This site was made without any.</p>
        )}
      </section>
    </Page>
  )
}

function FirstRun() {
  return (
    <p className="muted">
      <Link to="/new-run">Start one</Link>, or look at <Link to="/gallery">what others show</Link>. It appears here
      while it goes on.
    </p>
  )
}

function Commands() {
  return (
    <>
      <p className="muted">
        Start one in a terminal, in the directory of this server. It appears here while it goes on.
      </p>
      <ol className={styles.commands}>
        {COMMANDS.map(([command, words]) => (
          <li key={command}>
            <Command>{command}</Command>
            <p className="muted">{words}</p>
          </li>
        ))}
      </ol>
    </>
  )
}
