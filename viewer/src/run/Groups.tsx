/** Episodes that say something, kept as a group of their run: a saved view that is measured anew whenever it is shown. */
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { del, put } from '../api/client'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import type { Schema } from '../api/types'
import { count, interval, measure } from '../format'
import { Button } from '../parts/Button'
import { IconButton } from '../parts/IconButton'
import { useToast } from '../parts/toast'
import { place } from '../place'
import { groupText, readGroup } from '../runs/views'
import { useMe } from '../session/useMe'
import styles from './Groups.module.css'

/** Groups whose numbers are shown; each is a search. */
const MEASURED = 6

interface Group {
  name: string
  said: string
}

/** The groups of a run; none where nothing can be kept. */
function useGroups(runId: string): { groups: Group[]; allowed: boolean } {
  const me = useMe()
  const allowed = source.live && (place.mode !== 'server' || (me !== undefined && me.type !== 'anonymous'))
  const views = useQuery({ ...documentQuery('/api/views'), enabled: allowed }).data ?? []
  const groups = views.flatMap(({ name, search }) => {
    const group = readGroup(search)
    return group?.run === runId ? [{ name, said: group.said }] : []
  })
  return { groups, allowed }
}

/** Keeps what is found as a group; nothing where it is one already. */
export function SaveGroup({ runId, text }: { runId: string; text: string }) {
  const { groups, allowed } = useGroups(runId)
  const [busy, setBusy] = useState(false)
  const client = useQueryClient()
  const toast = useToast()
  if (!allowed || groups.some(({ said }) => said === text)) return null
  const save = async () => {
    setBusy(true)
    // Names of views are those of a person, not of a run.
    const name = `${text.slice(0, 80).replaceAll('/', ' ').trim()} · ${runId.slice(0, 13)}`
    try {
      await put('/api/views/{name}', { params: { name }, body: { search: groupText({ run: runId, said: text }) } })
      await client.invalidateQueries({ queryKey: ['/api/views'] })
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : 'The group could not be kept.', tone: 'bad' })
    }
    setBusy(false)
  }
  return (
    <span className={styles.save}>
      <Button icon="plus" busy={busy} onClick={() => void save()}>
        Save as a group
      </Button>
    </span>
  )
}

interface GroupChipsProps {
  run: Schema<'RunDetail'>
  text: string
  onText: (text: string) => void
}

/** The groups of a run with how many episodes they have and how many of these passed. */
export function GroupChips({ run, text, onText }: GroupChipsProps) {
  const { groups } = useGroups(run.id)
  const client = useQueryClient()
  const toast = useToast()
  const measured = useQueries({
    queries: groups.slice(0, MEASURED).map(({ said }) => ({
      ...documentQuery('/api/runs/{run_id}/search', { params: { run_id: run.id }, query: { text: said, limit: 1 } }),
      staleTime: 60_000,
      retry: false,
    })),
  })
  if (groups.length === 0) return null
  const remove = async (name: string) => {
    try {
      await del('/api/views/{name}', { params: { name } })
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : 'The group could not be deleted.', tone: 'bad' })
    }
    void client.invalidateQueries({ queryKey: ['/api/views'] })
  }
  return (
    <ul className={styles.groups} aria-label="Groups of this run">
      {groups.map(({ name, said }, at) => {
        const found = measured[at]?.data?.matching
        return (
          <li key={name} className={styles.group}>
            <button type="button" aria-pressed={said === text} onClick={() => onText(said === text ? '' : said)}>
              <bdi>{said}</bdi>
              {found && (
                <span
                  className={styles.numbers}
                  data-tip={interval(found.accuracy_low, found.accuracy_high, found.accuracy_weak)}
                >
                  {count(found.episodes)}
                  {found.accuracy !== null && ` · accuracy ${measure(found.accuracy)}`}
                </span>
              )}
            </button>
            <IconButton icon="close" size="sm" label={`Delete group ${said}`} onClick={() => void remove(name)} />
          </li>
        )
      })}
    </ul>
  )
}
