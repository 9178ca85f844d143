/** The contents that a benchmark has had. */

import type { Schema } from '../api/types'
import { count } from '../format'
import { CopyButton } from '../parts/CopyButton'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'

export function VersionList({
  versions,
  current,
}: {
  versions: readonly Schema<'BenchmarkVersion'>[]
  current: string
}) {
  return (
    <PlainTable label="Table of versions">
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">Content</th>
          <th scope="col" data-numeric>
            Runs
          </th>
          <th scope="col">First run</th>
        </tr>
      </thead>
      <tbody>
        {versions.map(({ digest, version, runs, first_run_at }) => (
          <tr key={digest}>
            <th scope="row">
              {version} {digest === current && <span className="muted">latest</span>}
            </th>
            <td data-tip={digest}>
              <code>{digest.slice(0, 12)}</code> <CopyButton text={digest} label="Copy content digest" />
            </td>
            <td data-numeric>{count(runs)}</td>
            <td>
              <When at={first_run_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
