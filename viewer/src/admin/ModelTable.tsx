import { usePlatform } from '../api/platform'
import { Badge } from '../parts/Badge'
import { Empty } from '../parts/Empty'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import { Loaded } from '../platform/Loaded'

/** The models that the operator offers. */
export function ModelTable() {
  const models = usePlatform('/v1/models')
  return (
    <Panel title="Models" note="offered by the settings of the platform" flush>
      <Loaded query={models} title="The models could not be read">
        {({ models: found }) =>
          found.length === 0 ? (
            <Empty title="No model is offered">Add some to the settings file, each with the variable of its key.</Empty>
          ) : (
            <PlainTable label="Table of models">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Can be run</th>
                  <th scope="col">Guests</th>
                  <th scope="col">Full bench</th>
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
