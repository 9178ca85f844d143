import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it, vi } from 'vitest'
import type { Column } from './column'
import { VirtualTable } from './VirtualTable'

const COLUMNS: Column<string>[] = [
  { key: 'name', header: 'Name', width: 100, sort: 'name', render: (row) => row },
  { key: 'size', header: 'Size', width: 100, sort: 'size', align: 'end', render: (row) => row.length },
]

function table(more: Partial<Parameters<typeof VirtualTable<string>>[0]> = {}) {
  return (
    <VirtualTable
      label="Things"
      columns={COLUMNS}
      count={1_000_000}
      getRow={(index) => (index === 3 ? undefined : `thing ${index}`)}
      rowKey={(row) => row}
      {...more}
    />
  )
}

beforeEach(() => {
  Object.defineProperty(HTMLElement.prototype, 'clientHeight', { configurable: true, value: 396 })
  Object.defineProperty(HTMLElement.prototype, 'clientWidth', { configurable: true, value: 800 })
})

it('draws the rows in view, tells how many there are, and asks for those it needs', () => {
  const onRange = vi.fn()
  render(table({ onRange }))
  expect(screen.getByRole('grid', { name: 'Things' }).getAttribute('aria-rowcount')).toBe('1000001')
  expect(screen.getAllByRole('row').length).toBeLessThan(40)
  expect(onRange).toHaveBeenLastCalledWith(0, 15)
})

it('sorts numbers from the greatest and turns around when pressed again', async () => {
  const onSort = vi.fn()
  const { rerender } = render(table({ onSort }))
  await userEvent.click(screen.getByRole('button', { name: 'Size' }))
  expect(onSort).toHaveBeenLastCalledWith('-size')
  rerender(table({ onSort, sort: '-size' }))
  expect(screen.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort')).toBe('descending')
  await userEvent.click(screen.getByRole('button', { name: 'Size' }))
  expect(onSort).toHaveBeenLastCalledWith('size')
})

it('moves, opens and chooses by keys of the page, but never a row that is not there yet', async () => {
  const [onOpen, onSelect] = [vi.fn(), vi.fn()]
  render(table({ onOpen, onSelect, selected: new Set(), shortcuts: true }))
  await userEvent.keyboard('jjjkx{Enter}')
  expect(onSelect).toHaveBeenCalledExactlyOnceWith('thing 1', true, 1)
  expect(onOpen).toHaveBeenCalledExactlyOnceWith('thing 1', 1)
  await userEvent.keyboard('jj{Enter}')
  expect(onOpen).toHaveBeenCalledTimes(1)
})

it('asks for more when the end comes near', () => {
  const onMore = vi.fn()
  const { rerender } = render(table({ count: 1000, onMore }))
  expect(onMore).not.toHaveBeenCalled()
  rerender(table({ count: 30, onMore }))
  expect(onMore).toHaveBeenCalled()
})

it('says what to do when there is nothing', () => {
  render(table({ count: 0, empty: <p>Nothing yet</p> }))
  expect(screen.getByText('Nothing yet')).toBeTruthy()
})
