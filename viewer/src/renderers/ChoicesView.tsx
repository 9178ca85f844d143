import { measure } from '../format'
import { type Choices, type Likelihood, mostProbable } from './choices'
import styles from './fields.module.css'
import { Marked } from './Marked'
import { TextView } from './TextView'

/** A text and the continuations that are compared. */
export function ChoicesView({ choices, highlight }: { choices: Choices; highlight?: string }) {
  return (
    <>
      <TextView text={choices.context} highlight={highlight} />
      <ol className={styles.choices} aria-label="Continuations">
        {choices.continuations.map((text, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two continuations may be equal
          <li key={place}>
            <Marked text={text} highlight={highlight} />
          </li>
        ))}
      </ol>
    </>
  )
}

interface LikelihoodListProps {
  likelihoods: readonly Likelihood[]
  /** The continuations, if they are known. */
  texts: readonly string[]
  highlight?: string
}

/** How probable each continuation is for the model; the most probable one stands out. */
export function LikelihoodList({ likelihoods, texts, highlight }: LikelihoodListProps) {
  const best = mostProbable(likelihoods)
  return (
    <table className={styles.likelihoods} aria-label="Log-probabilities">
      <thead>
        <tr>
          <th scope="col">Continuation</th>
          <th scope="col">Log-probability</th>
          <th scope="col" data-tip="Each of its tokens is the one that the model finds most probable">
            Greedy
          </th>
        </tr>
      </thead>
      <tbody>
        {likelihoods.map(({ logprob, greedy }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a continuation is its place
          <tr key={place} data-best={(likelihoods.length > 1 && place === best) || undefined}>
            <th scope="row">
              <Marked text={texts[place] ?? `${place + 1}`} highlight={highlight} />
            </th>
            <td data-full={String(logprob)}>{measure(logprob)}</td>
            <td>{greedy ? 'yes' : 'no'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
