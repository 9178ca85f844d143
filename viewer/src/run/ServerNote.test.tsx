import { QueryClient } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { run } from './examples'
import { ServerNote } from './ServerNote'
import { draw } from './testPage'

const imported: Schema<'Imported'> = {
  at: '2026-11-01T10:00:00Z',
  last_at: '2026-11-01T10:00:00Z',
  by: 'ann',
  host: 'laptop',
  run_id: '019a1f20-5a00-7000-8000-000000000001',
  signature: 'abcdef0123456789',
  chain: '8:0123',
  recomputed: true,
}
const submitted = {
  visibility: 'private',
  mine: true,
  request: {
    kind: 'imported',
    state: 'ended',
    config: null,
    evaluation: null,
  } as unknown as Schema<'RunRequestDocument'>,
}

async function told(given: Schema<'Imported'> | null): Promise<string> {
  await draw(<ServerNote run={run({ ...submitted, imported: given })} />, new QueryClient())
  return screen.getByTestId('part').textContent ?? ''
}

describe('the note of a run on a server', () => {
  it('says of an imported run who pushed it, from where, and that it was computed again', async () => {
    const text = await told(imported)
    expect(screen.getByText('imported')).not.toBeNull()
    expect(text).toMatch(/pushed .* by ann from laptop/)
    expect(text).toContain('signature abcdef0123')
    expect(text).toContain('Every number was computed again here')
    expect(text).not.toContain('again ,')
  })

  it('says when it was pushed again', async () => {
    expect(await told({ ...imported, last_at: '2026-11-02T10:00:00Z' })).toMatch(/pushed .*, again /)
  })

  it('says when numbers could not be computed again', async () => {
    expect(await told({ ...imported, recomputed: false })).toContain('could not be computed again')
  })

  it('says nothing of it for other runs', async () => {
    expect(await told(null)).not.toContain('imported')
  })
})
