import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { address } from '../api/address'
import { post } from '../api/client'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { bytes, count, plural, sentence } from '../format'
import { Button } from '../parts/Button'
import { CopyButton } from '../parts/CopyButton'
import { Icon } from '../parts/Icon'
import { LinkButton } from '../parts/LinkButton'
import linkStyles from '../parts/LinkButton.module.css'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceRuns } from '../workspaces/WorkspaceRuns'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { ColumnTable } from './ColumnTable'
import { DatasetActions } from './DatasetActions'
import { DatasetBadge } from './DatasetBadge'
import { FaultPanel } from './FaultPanel'
import { PreviewPanel } from './PreviewPanel'
import { UploadForm } from './UploadForm'
import { VersionList } from './VersionList'

const LOOK_AGAIN = 1_000

/** What the parts of the page show. */
interface DatasetProps {
  workspace: Schema<'WorkspaceDocument'>
  dataset: Schema<'DatasetDocument'>
}

/** A dataset: its versions, and the rows and columns of one of them. */
export function DatasetPage() {
  const { workspaceId, datasetId } = useParams({ from: '/workspaces/$workspaceId/datasets/$datasetId' })
  const { version } = useSearch({ from: '/workspaces/$workspaceId/datasets/$datasetId' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const dataset = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/datasets/{dataset}', {
      params: { workspace: workspaceId, dataset: datasetId },
      query: { version },
    }),
    refetchInterval: ({ state }) =>
      state.data?.versions.some((one) => one.status === 'processing') ? LOOK_AGAIN : false,
    placeholderData: (before) => before,
  })
  if (workspace.data && dataset.data) return <DatasetView workspace={workspace.data} dataset={dataset.data} />
  return (
    <Page title="Dataset" trail={<WorkspaceTrail workspace={workspace.data} datasets />}>
      <WorkspaceNav workspaceId={workspaceId} />
      {workspace.error ? (
        <Loaded query={workspace} title="This workspace could not be loaded">
          {() => null}
        </Loaded>
      ) : (
        <Loaded query={dataset} title="This dataset could not be loaded">
          {() => null}
        </Loaded>
      )}
    </Page>
  )
}

function DatasetView({ workspace, dataset }: DatasetProps) {
  const me = useMe()
  const [uploads, setUploads] = useState(false)
  const navigate = useNavigate({ from: '/workspaces/$workspaceId/datasets/$datasetId' })
  const { current, name } = dataset
  const works = mayAs('member', workspace, me)
  const own = dataset.creator !== '' && dataset.creator === me?.username
  const path = '/api/workspaces/{workspace}/datasets/{dataset}/download'
  const file = address(path, { workspace: workspace.id, dataset: dataset.id }, { version: current.version })
  return (
    <Page
      title={name}
      heading={<bdi>{name}</bdi>}
      trail={<WorkspaceTrail workspace={workspace} datasets />}
      aside={<DatasetBadge status={current.status} />}
      actions={
        <>
          {current.status === 'uploaded' && (
            <a className={linkStyles.link} href={file} download>
              <Icon name="download" />
              Download
            </a>
          )}
          {works && current.status === 'uploaded' && (
            <LinkButton
              to="/new-run"
              search={{
                kind: 'rollout',
                workspace: workspace.id,
                dataset: dataset.id,
                version: String(current.version),
              }}
              icon="play"
            >
              Evaluate
            </LinkButton>
          )}
          {works && !uploads && (
            <Button icon="arrowUp" onClick={() => setUploads(true)}>
              Upload a version
            </Button>
          )}
          {works && (own || mayAs('admin', workspace, me)) && (
            <DatasetActions workspaceId={workspace.id} dataset={dataset} />
          )}
        </>
      }
    >
      <WorkspaceNav workspaceId={workspace.id} />
      <Facts version={current} />
      {works && uploads && (
        <Panel title="Upload a version">
          <UploadForm
            workspaceId={workspace.id}
            dataset={name}
            onClose={() => setUploads(false)}
            onDone={({ version }) => {
              setUploads(false)
              void navigate({ search: { version } })
            }}
          />
        </Panel>
      )}
      <div className={styles.columns}>
        <div className={styles.stack}>
          <VersionBody workspace={workspace} dataset={dataset} />
        </div>
        <div className={styles.stack}>
          <Panel title="Versions">
            <VersionList workspaceId={workspace.id} dataset={dataset} />
          </Panel>
        </div>
      </div>
    </Page>
  )
}

function Facts({ version }: { version: Schema<'DatasetVersionDocument'> }) {
  return (
    <p className={styles.facts}>
      <span>version {version.version}</span>
      {version.rows != null && <span>{plural(version.rows, 'row')}</span>}
      {version.mode && <span>{version.mode} mode</span>}
      {splitsOf(version).map(([name, rows]) => (
        <span key={name}>
          {name ? <bdi>{name}</bdi> : 'in no split'} {count(rows)}
        </span>
      ))}
      <span>
        <bdi>{version.file_name}</bdi>, {bytes(version.size)}
      </span>
      {version.digest && (
        <span className={styles.actions}>
          SHA-256 <code data-full={version.digest}>{version.digest.slice(0, 12)}</code>
          <CopyButton text={version.digest} label="Copy the digest of the file" />
        </span>
      )}
      <span>
        uploaded <When at={version.created_at} />
        {version.creator && (
          <>
            {' by '}
            <bdi>{version.creator}</bdi>
          </>
        )}
      </span>
      {version.source && <Source source={version.source} />}
    </p>
  )
}

/** The splits of a version with their rows, if there are any. */
function splitsOf({ splits }: Schema<'DatasetVersionDocument'>): [string, number][] {
  const found = Object.entries(splits ?? {})
  return found.some(([name]) => name !== '') ? found : []
}

/** Where the rows of a version come from. */
function Source({ source }: { source: Schema<'DatasetSource'> }) {
  if (source.kind === 'hub') {
    const parts = [source.repository, source.config, source.split].filter(Boolean).join('/')
    return (
      <span>
        from <bdi>{parts}</bdi> on the Hugging Face hub, commit <code>{source.revision?.slice(0, 12)}</code>
      </span>
    )
  }
  return (
    <span>
      {source.added === 0 ? 'no row' : source.added == null ? 'rows' : plural(source.added, 'row')} added from{' '}
      <Link to="/runs/$runId" params={{ runId: source.run ?? '' }}>
        a run
      </Link>
      {source.base != null && ` to version ${source.base}`}
      {!!source.duplicates && `, ${plural(source.duplicates, 'row')} there already`}
    </span>
  )
}

/** What there is to see of a version: its rows, or why there are none. */
function VersionBody({ workspace, dataset }: DatasetProps) {
  const { current } = dataset
  if (current.status === 'uploading') return <Incomplete workspace={workspace} dataset={dataset} />
  if (current.status === 'processing')
    return (
      <Panel title="Checking">
        <p role="status">
          A worker of the server checks every row. This page shows the result as soon as there is one.
        </p>
      </Panel>
    )
  if (current.status === 'error') return <FaultPanel version={current} />
  if (current.status === 'cancelled')
    return (
      <Panel title="Cancelled">
        <p>
          {current.source?.kind === 'run'
            ? 'No row was added: the dataset had all of them already.'
            : 'The upload of this version was given up. It has no rows.'}
        </p>
      </Panel>
    )
  return (
    <>
      {(current.warnings ?? []).length > 0 && (
        <Panel title="Warnings">
          <ul className={styles.rows}>
            {current.warnings?.map((warning) => (
              <li key={warning}>
                <bdi>{sentence(warning)}</bdi>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <PreviewPanel workspaceId={workspace.id} datasetId={dataset.id} version={current.version} />
      <WorkspaceRuns
        workspaceId={workspace.id}
        title={`Runs on version ${current.version}`}
        filter={{ dataset: [dataset.id] }}
        version={current.version}
      />
      <Panel
        title="Columns"
        note={current.duplicates ? `${plural(current.duplicates, 'row repeats', 'rows repeat')} another` : undefined}
        flush
      >
        <ColumnTable version={current} />
      </Panel>
    </>
  )
}

function Incomplete({ workspace, dataset }: DatasetProps) {
  const me = useMe()
  const navigate = useNavigate()
  const { current } = dataset
  const params = { workspace: workspace.id, dataset: dataset.id, number: current.version }
  const path = '/api/workspaces/{workspace}/datasets/{dataset}/versions/{number}/abort'
  const abort = useChange(() => post(path, { params }), {
    done: `The upload of ${current.file_name} was given up.`,
    after: () => void navigate({ to: '/workspaces/$workspaceId/datasets', params: { workspaceId: workspace.id } }),
  })
  return (
    <Panel title="The upload is incomplete">
      <div className={styles.stack}>
        <p>
          The server has only a part of <bdi>{current.file_name}</bdi>. Upload the same file again, and it continues
          where it stopped; or give the upload up. What nobody continues is removed after a day.
        </p>
        {mayAs('member', workspace, me) && (
          <div className={styles.actions}>
            <Button busy={abort.isPending} onClick={() => abort.mutate(undefined)}>
              Give up
            </Button>
          </div>
        )}
      </div>
    </Panel>
  )
}
