import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { post } from '../api/client'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { IconButton } from '../parts/IconButton'
import { Key } from '../parts/Key'
import { Panel } from '../parts/Panel'
import { useChange } from '../parts/useChange'
import { GraderList } from './GraderList'
import { History } from './History'
import { ReviewerName } from './ReviewerName'
import styles from './reviews.module.css'
import { useReviewer } from './useReviewer'
import { ANSWERS, type Answer, GRADER_WORDS } from './words'

const PATH = '/api/episodes/{episode_id}/verdicts'

interface YourVerdictProps {
  episodeId: string
  /** Only a button until it is pressed: where there is no column for it. */
  folded?: boolean
}

/** What one says of an episode's grader, with labels and a note, and what everybody said before. Nothing on a public page. */
export function YourVerdict({ episodeId, folded = false }: YourVerdictProps) {
  const [reviewer] = useReviewer()
  const [opened, setOpened] = useState(!folded)
  useShortcut('m', 'Your verdict', () => setOpened(true), { group: 'Your verdict', enabled: !opened })
  const request = { params: { episode_id: episodeId }, query: { reviewer } }
  const verdicts = useQuery({ ...documentQuery(PATH, request), enabled: source.live, retry: false })
  // A site has no reviews, and who may not see all of the run gets none.
  if (!source.live || verdicts.data === undefined) return null
  const { mine, may_judge: judges, items, hidden, last } = verdicts.data
  if (!opened) {
    if (!judges && items.length + hidden === 0) return null
    return (
      <div>
        <Button onClick={() => setOpened(true)}>
          {judges ? 'Your verdict' : 'Verdicts'}
          {items.length > 0 && ` (${plural(items.length, 'entry', 'entries')})`} <Key keys="m" />
        </Button>
      </div>
    )
  }
  return (
    <div className={folded ? styles.beside : styles.left}>
      {judges && <VerdictPanel key={`${episodeId} ${last}`} episodeId={episodeId} found={verdicts.data} />}
      {(items.length > 0 || hidden > 0 || mine !== null) && (
        <Panel title="History">
          <GraderList graders={verdicts.data.graders} title="Graders" />
          <History verdicts={items} />
          {hidden > 0 && (
            <p className={styles.hint}>
              {plural(hidden, 'verdict')} of a blind round {hidden === 1 ? 'is' : 'are'} hidden until the episode has
              all of them.
            </p>
          )}
        </Panel>
      )}
    </div>
  )
}

/** What is written before it is saved. */
interface Written {
  grader: Schema<'VerdictInput'>['grader']
  answer: Answer | null
  labels: string[]
  note: string
}

function writtenOf(mine: Schema<'VerdictDocument'> | null): Written {
  const labels = Object.entries(mine?.labels ?? {}).filter(([, value]) => value === true)
  return {
    grader: mine?.grader ?? null,
    answer: mine?.answer ?? null,
    labels: labels.map(([name]) => name),
    note: mine?.note ?? '',
  }
}

function VerdictPanel({ episodeId, found }: { episodeId: string; found: Schema<'EpisodeVerdicts'> }) {
  const id = useId()
  const client = useQueryClient()
  const [reviewer] = useReviewer()
  const [written, setWritten] = useState<Written>(() => writtenOf(found.mine))
  const note = useRef<HTMLTextAreaElement>(null)
  const label = useRef<HTMLInputElement>(null)
  const set = (changed: Partial<Written>) => setWritten({ ...written, ...changed })
  const save = useChange(
    () => {
      const labels = Object.fromEntries(written.labels.map((name) => [name, true]))
      const { grader, answer, note: words } = written
      const body = { grader, answer: grader === 'wrong' ? answer : null, labels, note: words, step: '', settles: false }
      return post(PATH, { params: { episode_id: episodeId }, body: { ...body, after: found.last, reviewer } })
    },
    {
      done: 'Your verdict is saved.',
      silent: true,
      after: (answer) =>
        client.setQueryData(
          documentQuery(PATH, { params: { episode_id: episodeId }, query: { reviewer } }).queryKey,
          answer,
        ),
    },
  )
  const changed = JSON.stringify(written) !== JSON.stringify(writtenOf(found.mine))
  const saveNow = () => changed && !save.isPending && save.mutate(undefined)
  const say = (grader: Written['grader']) =>
    set({ grader: written.grader === grader ? null : grader, answer: grader === 'wrong' ? written.answer : null })
  useShortcut('1', 'The grader is right', () => say('right'), { group: 'Your verdict' })
  useShortcut('2', 'The grader is wrong', () => say('wrong'), { group: 'Your verdict' })
  useShortcut('3', 'Not sure about the grader', () => say('unsure'), { group: 'Your verdict' })
  useShortcut('m', 'Note', () => note.current?.focus(), { group: 'Your verdict' })
  useShortcut('t', 'Label', () => label.current?.focus(), { group: 'Your verdict' })
  const add = () => {
    const name = label.current?.value.trim().slice(0, 200) ?? ''
    if (name !== '' && !written.labels.includes(name)) set({ labels: [...written.labels, name] })
    if (label.current) label.current.value = ''
  }
  const press = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === 'Escape') event.currentTarget.blur()
    if (event.key !== 'Enter') return
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      saveNow()
    } else if (event.currentTarget === label.current) {
      event.preventDefault()
      add()
    }
  }
  return (
    <Panel title="Your verdict">
      <div className={styles.fields}>
        <fieldset className={styles.graderChoice}>
          <legend className={styles.name}>The grader is</legend>
          {GRADER_WORDS.map(({ value, key }) => (
            <button key={value} type="button" aria-pressed={written.grader === value} onClick={() => say(value)}>
              {value}{' '}
              <span aria-hidden="true">
                <Key keys={key} />
              </span>
            </button>
          ))}
        </fieldset>
        {written.grader === 'wrong' && (
          <label className={styles.labelled}>
            <span className={styles.name}>The answer is</span>
            <select
              className={styles.text}
              value={written.answer ?? ''}
              onChange={(event) => set({ answer: (event.target.value || null) as Answer | null })}
            >
              <option value="">the opposite of what the grader says</option>
              {ANSWERS.map(({ value, title }) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <div className={styles.labelled}>
          <label htmlFor={`${id}-label`} className={styles.name}>
            Labels <Key keys="t" />
          </label>
          <div className={styles.tags}>
            {written.labels.map((name) => (
              <span key={name} className={styles.tag}>
                <bdi>{name}</bdi>
                <IconButton
                  icon="close"
                  size="sm"
                  label={`Remove the label ${name}`}
                  onClick={() => set({ labels: written.labels.filter((one) => one !== name) })}
                />
              </span>
            ))}
            <input
              ref={label}
              id={`${id}-label`}
              list={`${id}-labels`}
              className={styles.newTag}
              placeholder="+ label"
              maxLength={200}
              onKeyDown={press}
              onBlur={add}
            />
            <datalist id={`${id}-labels`}>
              {found.labels.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </div>
        </div>
        <label className={styles.labelled}>
          <span className={styles.name}>
            Note <Key keys="m" />
          </span>
          <textarea
            ref={note}
            className={styles.text}
            rows={2}
            maxLength={10_000}
            value={written.note}
            onKeyDown={press}
            onChange={(event) => set({ note: event.target.value })}
          />
        </label>
        {save.error && <Failure error={save.error} title="Your verdict could not be saved" />}
        <div className={styles.saveLine}>
          <ReviewerName reviewer={found.reviewer} />
          <Button busy={save.isPending} disabled={!changed} onClick={saveNow}>
            Save <Key keys="Ctrl Enter" />
          </Button>
        </div>
      </div>
    </Panel>
  )
}
