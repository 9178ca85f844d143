/** What the name of a file says about the dataset in it. */

/** Endings of files that can be a dataset. */
export const ENDINGS = ['.csv', '.jsonl', '.ndjson', '.parquet'] as const

/** The name that a dataset of this file gets: the file's without its ending. */
export function nameOf(file: string): string {
  const dot = file.lastIndexOf('.')
  return dot > 0 ? file.slice(0, dot) : file
}

/** What keeps a file from being a dataset; nothing if nothing does. */
export function faultOf(file: { name: string; size: number } | undefined): string | undefined {
  if (file === undefined) return 'Choose a file.'
  if (!ENDINGS.some((ending) => file.name.toLowerCase().endsWith(ending)))
    return 'A dataset is a CSV, JSONL or Parquet file; convert it, or correct its ending.'
  return file.size === 0 ? 'The file is empty; a dataset has at least one row.' : undefined
}
