/** What installation and programs of a run printed. */

import type { Schema } from '../api/types'
import { LogText } from '../environments/LogText'
import { bytes } from '../format'
import { Button } from '../parts/Button'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { save } from '../parts/save'
import { endOf, type Output } from './output'
import { useOutput } from './useOutput'

/** Characters that are shown; a browser takes long to lay out more. */
const SHOWN = 200_000

export function OutputPanel({ run }: { run: Schema<'RunDetail'> }) {
  const output = useOutput(run.id)
  return (
    <Loaded query={output} title="The output could not be loaded">
      {(found) => <OutputText run={run} output={found} />}
    </Loaded>
  )
}

function OutputText({ run, output }: { run: Schema<'RunDetail'>; output: Output }) {
  const { text, ended, cut } = output
  const shown = endOf(text, SHOWN)
  return (
    <Panel
      title="Output"
      note="installation, and processes of the rollout; values of secrets are removed"
      actions={
        text !== '' && (
          <Button icon="download" onClick={() => save(`${run.name || run.id}.log`, text)}>
            Download
          </Button>
        )
      }
    >
      <div className={styles.stack}>
        {(cut || shown.length < text.length) && (
          <p className="muted">
            {shown.length < text.length
              ? `This is the end; the download has all ${bytes(text.length)}${cut ? ' that the server kept' : ''}.`
              : 'This is the end; the server kept no more.'}
          </p>
        )}
        <LogText
          label="Output of the run"
          text={shown}
          follow={!ended}
          empty={ended ? 'Nothing was printed.' : 'Waiting for the first line…'}
        />
      </div>
    </Panel>
  )
}
