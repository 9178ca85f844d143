import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { SelectField } from '../form/SelectField'
import { plural } from '../format'
import { LOOK_AGAIN } from '../gallery/useGallery'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { LeaderboardTable } from './LeaderboardTable'
import styles from './OfficialBoard.module.css'
import { attemptWords, protocolWords } from './places'

/** Runs by the protocol of a domain, of which every attempt counts; nothing where it has none. */
export function OfficialBoard({ domain }: { domain: Schema<'Domain'> }) {
  const [version, setVersion] = useState<number>()
  const board = useQuery({
    ...documentQuery('/api/leaderboards/{domain_id}/official', {
      params: { domain_id: domain.id },
      query: { version },
    }),
    refetchInterval: LOOK_AGAIN,
  })
  if (board.data && board.data.protocol === null) return null
  return (
    <Panel
      title="Official leaderboard"
      note={board.data?.protocol ? `protocol ${board.data.protocol.version}` : undefined}
      flush
    >
      <Loaded query={board} title="The official leaderboard could not be loaded">
        {(found) => (
          <>
            {found.protocol && <Terms board={found} onVersion={setVersion} />}
            {found.entries.length > 0 ? (
              <LeaderboardTable
                label="Official ranking"
                entries={found.entries}
                version={found.protocol?.vow_version ?? undefined}
              />
            ) : (
              <Empty title="No official runs have finished yet">Select “Official run” when you start a run.</Empty>
            )}
            {found.others.length > 0 && <Others others={found.others} />}
          </>
        )}
      </Loaded>
    </Panel>
  )
}

function Terms({ board, onVersion }: { board: Schema<'OfficialBoard'>; onVersion: (version: number) => void }) {
  const protocol = board.protocol
  if (!protocol) return null
  return (
    <div className={styles.terms}>
      <p>
        {protocolWords(protocol)}. Every attempt counts, whatever its score. Users with an unfinished or deleted attempt
        are not ranked with that model.
      </p>
      {board.versions.length > 1 && (
        <SelectField
          label="Protocol"
          value={String(protocol.version)}
          onChange={(chosen) => onVersion(Number(chosen))}
          options={board.versions.map((one) => ({ value: String(one), label: String(one) }))}
        />
      )}
    </div>
  )
}

function Others({ others }: { others: readonly Schema<'OfficialAttempts'>[] }) {
  return (
    <div className={styles.terms}>
      <p className="muted">{plural(others.length, 'participant')} without a finished run:</p>
      <ul>
        {others.map((one, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: participants have no name here, and the list is read as a whole
          <li key={`${one.model} ${place}`}>
            <bdi>{one.model}</bdi> <span className="muted">{attemptWords(one.attempts)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
