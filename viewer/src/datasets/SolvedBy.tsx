import { Link } from '@tanstack/react-router'
import { Icon } from '../parts/Icon'
import verdicts from '../parts/Verdict.module.css'
import { type Solved, solvedWords } from './solved'

/** How many of the models that tried a row solve it, with a link to its task over all of them. */
export function SolvedBy({ row }: { row: Solved | undefined }) {
  if (row === undefined) return <span className="muted">not tried</span>
  const solved = row.models.filter((one) => one.solved).length
  return (
    <>
      {row.models.map(({ name, solved: right }) => (
        <span
          key={name}
          className={verdicts.verdict}
          data-verdict={right ? 'passed' : 'not_passed'}
          data-tip={`${name}: ${right ? 'solved' : 'not solved'}`}
        >
          <Icon name={right ? 'check' : 'close'} size={13} />
        </span>
      ))}{' '}
      <Link
        to="/benchmarks/$benchmarkId/tasks/$taskDigest"
        params={{ benchmarkId: row.benchmark, taskDigest: row.task }}
      >
        {solved} of {row.models.length}
      </Link>{' '}
      <span className="muted">{solvedWords(row)}</span>
    </>
  )
}
