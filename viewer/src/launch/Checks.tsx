import { useMutation } from '@tanstack/react-query'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { duration, plural } from '../format'
import { Button } from '../parts/Button'
import { Icon } from '../parts/Icon'
import styles from './launch.module.css'

interface ChecksProps {
  workspace: string
  forecast: Schema<'Forecast'>
}

/** Whether keys are there, workers are free and, once asked, the models answer. */
export function Checks({ workspace, forecast }: ChecksProps) {
  const accepted = forecast.runs.filter(({ refused }) => refused === '')
  const asked = accepted.map(({ model }) => model).filter((name) => !name.startsWith('builtin/'))
  const ask = useMutation({
    mutationFn: (models: readonly string[]) =>
      Promise.all(models.map((model) => post('/api/models/check', { body: { model, workspace } }))),
  })
  const answers = ask.data?.filter(({ model }) => asked.includes(model)) ?? []
  return (
    <ul className={styles.checks}>
      <Workers forecast={forecast} />
      {forecast.runs
        .filter(({ refused }) => refused !== '')
        .map(({ model, refused }) => (
          <Line key={model} tone="bad" words={model ? `${model}: ${refused}` : refused} />
        ))}
      {forecast.runs.flatMap(({ model, warnings }) =>
        warnings.map((words) => <Line key={`${model} ${words}`} tone="warn" words={`${model}: ${words}`} />),
      )}
      {answers.map(({ model, answers: good, error, seconds }) => (
        <Line
          key={`answer ${model}`}
          tone={good ? 'good' : 'bad'}
          words={good ? `${model} answers` : `${model} does not answer: ${error}`}
          note={good ? `in ${duration(seconds)}` : ''}
        />
      ))}
      {ask.error && <Line tone="bad" words={ask.error.message} />}
      {asked.length > 0 && (
        <li>
          <Button busy={ask.isPending} onClick={() => ask.mutate(asked)}>
            Ask {asked.length === 1 ? 'the model' : `${asked.length} models`} one word
          </Button>
        </li>
      )}
    </ul>
  )
}

function Workers({ forecast: { workers, places, waiting } }: { forecast: Schema<'Forecast'> }) {
  if (workers === 0) return <Line tone="bad" words="No worker is alive: runs wait until an administrator starts one." />
  if (places === 0) return <Line tone="warn" words="All workers are busy: the runs wait for their turn." />
  return (
    <Line
      tone="good"
      words={`workers are free: room for ${plural(places, 'run')}`}
      note={waiting > 0 ? `${waiting} waiting` : ''}
    />
  )
}

function Line({ tone, words, note = '' }: { tone: 'good' | 'warn' | 'bad'; words: string; note?: string }) {
  return (
    <li data-tone={tone}>
      <Icon name={tone === 'good' ? 'check' : tone === 'warn' ? 'warning' : 'error'} size={14} />
      <span>
        {words} <span className="muted">{note}</span>
      </span>
    </li>
  )
}
