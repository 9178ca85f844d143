import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { source } from '../api/source'
import { Command } from '../parts/Command'
import { Page } from '../parts/Page'
import { place } from '../place'
import styles from './EmptyRuns.module.css'

const COMMANDS = [
  ['mesocosm demo', 'Plays a small example with a random agent and an oracle. Takes a few seconds and needs no model.'],
  ['mesocosm init my-environment', 'Creates an environment that is ready to run.'],
  [
    'mesocosm run local --model openai/my-model@http://127.0.0.1:8000/v1 --episodes 20',
    'Runs the environment in this directory on your model.',
  ],
  ['mesocosm import replay.json', 'Imports runs that were recorded elsewhere.'],
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
        {place.mode === 'server' ? (
          <FirstRun />
        ) : source.live ? (
          <Commands />
        ) : (
          <p className="muted">This site contains no runs.</p>
        )}
      </section>
    </Page>
  )
}

function FirstRun() {
  return (
    <p className="muted">
      <Link to="/new-run">Start a run</Link>, or view <Link to="/gallery">public runs</Link>. Runs appear here while
      they are in progress.
    </p>
  )
}

function Commands() {
  return (
    <>
      <p className="muted">
        Start a run in a terminal, in the working directory of this server. It appears here while it is in progress.
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
