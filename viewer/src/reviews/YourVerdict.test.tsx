import { QueryClient } from '@tanstack/react-query'
import { screen, waitFor } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { draw } from '../run/testPage'
import { YourVerdict } from './YourVerdict'

const HOSTILE = '<img src=x onerror=alert(1)>'
const PAST: Schema<'VerdictDocument'> = {
  ...{ id: '1', round_id: null, round_name: '', author: HOSTILE, mine: false, at: '2026-01-01T00:00:00Z' },
  ...{ answer: 'wrong', grader: 'right', labels: { [HOSTILE]: true }, note: HOSTILE, step: '' },
  ...{ settles: false, withdrawn: false, current: true },
}
const FOUND: Schema<'EpisodeVerdicts'> = {
  ...{ items: [PAST], hidden: 0, mine: null, last: '', labels: ['lucky'], may_judge: true },
  graders: [{ name: 'accuracy', primary: true, passed: false, value: 0, explanation: '4 is not 18' }],
  reviewer: { name: 'Ada', changeable: true },
}

async function shown(found: Schema<'EpisodeVerdicts'>): Promise<void> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  const request = { params: { episode_id: 'e' }, query: { reviewer: '' } }
  client.setQueryData(documentQuery('/api/episodes/{episode_id}/verdicts', request).queryKey, found)
  await draw(<YourVerdict episodeId="e" />, client)
}

afterEach(() => vi.unstubAllGlobals())

describe('your verdict', () => {
  it('is given by keys and saved with what was seen', async () => {
    const sent: unknown[] = []
    const answer = { ...FOUND, last: '2', mine: { ...PAST, id: '2', mine: true, grader: 'wrong', labels: {} } }
    vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
      if (init.method === 'POST') sent.push(JSON.parse(String(init.body)))
      return new Response(JSON.stringify(answer), { status: 201 })
    })
    await shown(FOUND)
    const user = userEvent.setup()

    await user.keyboard('2')
    await user.keyboard('t')
    await user.keyboard('lucky{Enter}{Escape}')
    await user.keyboard('m')
    await user.keyboard('by chance{Control>}{Enter}{/Control}')

    await waitFor(() => expect(sent).toHaveLength(1))
    expect(sent[0]).toMatchObject({
      grader: 'wrong',
      answer: null,
      labels: { lucky: true },
      note: 'by chance',
      after: '',
    })
  })

  it('shows hostile words as words', async () => {
    await shown(FOUND)

    expect(document.querySelector('img')).toBeNull()
    expect(screen.getAllByText(HOSTILE).length).toBeGreaterThan(1)
  })

  it('is not offered to who may only look on', async () => {
    await shown({ ...FOUND, may_judge: false })

    expect(screen.queryByText('Your verdict')).toBeNull()
    expect(screen.getByText('History')).toBeDefined()
  })

  it('says how many verdicts are hidden', async () => {
    await shown({ ...FOUND, items: [], hidden: 2 })

    expect(screen.getByText(/2 verdicts of a blind round are hidden/)).toBeDefined()
  })
})
