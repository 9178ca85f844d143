import { useState } from 'react'
import { useDocument } from '../api/query'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import panels from '../parts/panels.module.css'
import { ModelForm } from './ModelForm'
import { ModelTable } from './ModelTable'

/** The models of the server, to be added, changed, checked and disabled. */
export function ModelsView() {
  const models = useDocument('/api/admin/models')
  /** The model in the form; empty for a new one. */
  const [edited, setEdited] = useState<string>()
  const close = () => setEdited(undefined)
  const found = models.data?.models.find(({ name }) => name === edited)
  return (
    <div className={panels.stack}>
      {edited !== undefined && (
        <Panel title={found ? `Change ${found.name}` : 'Add a model'}>
          <ModelForm key={edited} model={found} onClose={close} />
        </Panel>
      )}
      <Panel
        title="Models"
        note="from the settings of the server, and added here"
        flush
        actions={
          edited !== '' && (
            <Button icon="plus" onClick={() => setEdited('')}>
              Add a model
            </Button>
          )
        }
      >
        <Loaded query={models} title="The models could not be loaded">
          {({ models: listed }) =>
            listed.length === 0 ? (
              <Empty title="No models">Add one here, or as [[models]] in the settings file.</Empty>
            ) : (
              <ModelTable models={listed} onEdit={setEdited} />
            )
          }
        </Loaded>
      </Panel>
    </div>
  )
}
