/** The benchmarks of a site. */
import type { Query, Schema } from '../api/types'
import { absent, readFile } from './files'
import { pageOf } from './order'

/** Answer `/api/benchmarks`. */
export async function listBenchmarks(
  query: NonNullable<Query<'/api/benchmarks', 'get'>> = {},
): Promise<Schema<'BenchmarkPage'>> {
  const words = (query.q ?? '').toLowerCase().split(/\s+/)
  const { items } = await readFile<Schema<'BenchmarkPage'>>('benchmarks')
  const found = items.filter((item) => {
    const seen = [item.title, item.id, item.kind].join('\n').toLowerCase()
    return words.every((word) => seen.includes(word))
  })
  return pageOf(found, query.cursor, query.limit ?? 100)
}

/** Answer `/api/benchmarks/{id}`. */
export async function getBenchmark(id: string): Promise<Schema<'BenchmarkDetail'>> {
  const { items } = await readFile<Schema<'BenchmarkPage'>>('benchmarks')
  const place = items.findIndex((item) => item.id === id)
  if (place < 0) throw absent(`runs of benchmark ${id}`)
  return await readFile<Schema<'BenchmarkDetail'>>(`benchmarks/${place}`)
}
