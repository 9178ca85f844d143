import { describe, expect, it } from 'vitest'
import { inZone, lookAgain, runsWhen, zones } from './times'

const DAILY = { trigger: 'cron', branch: '', cron: '0 3 * * *', timezone: 'Europe/Berlin' } as const

describe('times of schedules', () => {
  it('are words where they are usual ones', () => {
    expect(runsWhen(DAILY)).toBe('every day at 3:00 (Europe/Berlin)')
    expect(runsWhen({ ...DAILY, cron: '7 3 * * *' })).toBe('7 3 * * * (Europe/Berlin)')
    expect(runsWhen({ ...DAILY, trigger: 'sync' })).toBe('after each sync')
    expect(runsWhen({ ...DAILY, trigger: 'sync', branch: 'dev' })).toBe('after each sync of dev')
  })

  it('are shown in the zone of the schedule', () => {
    expect(inZone('2026-07-01T01:00:00Z', 'Europe/Berlin')).toBe('Wed, 1 Jul 2026, 03:00')
    expect(inZone('2026-07-01T22:30:00Z', 'Asia/Tokyo')).toBe('Thu, 2 Jul 2026, 07:30')
    expect(inZone('2026-07-01T01:00:00Z', 'Mars/Olympus')).toBe('2026-07-01T01:00:00Z')
  })

  it('are read again soon while a run is going', () => {
    const run = { status: 'submitted', run_status: 'finished' } as Parameters<typeof lookAgain>[0][number] & object
    const calm = lookAgain([null, run, { ...run, status: 'refused', run_status: '' }])
    expect(lookAgain([run, { ...run, run_status: 'running' }])).toBeLessThan(calm)
    expect(lookAgain([{ ...run, status: 'pending', run_status: '' }])).toBeLessThan(calm)
  })

  it('can be in any zone', () => {
    expect(zones()).toContain('America/New_York')
    expect(zones().filter((zone) => zone === 'UTC')).toHaveLength(1)
  })
})
