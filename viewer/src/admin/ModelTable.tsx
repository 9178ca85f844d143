import { useDocument } from '../api/query'
import { Badge } from '../parts/Badge'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'

/** The models that the operator offers. */
export function ModelTable() {
  const models = useDocument('/api/models')
  return (
    <Panel title="Models" note="from the settings of the server" flush>
      <Loaded query={models} title="The models could not be loaded">
        {({ models: found }) =>
          found.length === 0 ? (
            <Empty title="No models">
              Add models to the settings file, each with the environment variable of its API key.
            </Empty>
          ) : (
            <PlainTable label="Table of models">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Available</th>
                  <th scope="col">Guests</th>
                  <th scope="col">Batch runs</th>
                </tr>
              </thead>
              <tbody>
                {found.map((one) => (
                  <tr key={one.name}>
                    <th scope="row">
                      <bdi>{one.name}</bdi> {one.title && <span className="muted">{one.title}</span>}
                    </th>
                    <td>
                      {one.available ? (
                        <Badge tone="good" icon="check">
                          yes
                        </Badge>
                      ) : (
                        <>
                          <Badge tone="warn" icon="warning">
                            no
                          </Badge>{' '}
                          {one.reason}
                        </>
                      )}
                    </td>
                    <td>{one.guests ? 'yes' : 'no'}</td>
                    <td>{one.full_bench ? 'yes' : 'no'}</td>
                  </tr>
                ))}
              </tbody>
            </PlainTable>
          )
        }
      </Loaded>
    </Panel>
  )
}
