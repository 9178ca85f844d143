/** The question and the right answer, and what both episodes answered to it. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../../api/types'
import styles from '../../episode/answer/answer.module.css'
import { Answer, Cell, Long } from '../../episode/answer/Strip'
import { answerText, questionText } from '../../episode/answer/texts'
import { measure } from '../../format'
import { Verdict } from '../../parts/Verdict'
import { Marked } from '../../renderers/Marked'
import { brief } from '../../renderers/marks'
import own from './episodes.module.css'
import { taskName } from './pair'
import { SideName } from './SideName'

interface PairStripProps {
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  names: [string, string]
}

export function PairStrip({ a, b, names }: PairStripProps) {
  const question = questionText(a.input) || a.question || a.run.benchmark_title
  const expected = answerText(a.target) || a.expected
  return (
    <section className={`${styles.strip} ${own.strip}`} aria-label="Question and both answers">
      <Cell name="question" label={questionText(a.input) || a.question ? 'Question' : 'Task'}>
        <Long text={question} />
        <p className="muted">
          <bdi>
            <Marked text={brief(taskName(a.task_id), 80)} />
          </bdi>
        </p>
      </Cell>
      {expected !== '' && (
        <Cell name="expected" label="Expected">
          <Answer text={expected} />
        </Cell>
      )}
      <Given side="a" name={names[0]} episode={a} />
      <Given side="b" name={names[1]} episode={b} />
    </section>
  )
}

function Given({ side, name, episode }: { side: 'a' | 'b'; name: string; episode: Schema<'EpisodeDetail'> }) {
  const given = answerText(episode.answer) || episode.given
  return (
    <Cell
      name="given"
      label={
        <Link to="/episodes/$episodeId" params={{ episodeId: episode.id }}>
          <SideName side={side} name={name} />
        </Link>
      }
    >
      {given !== '' && <Answer text={given} verdict={episode.verdict} />}
      <p>
        {episode.verdict === null ? (
          <>
            {measure(episode.score)} <span className="muted">{episode.run.primary?.name}</span>
          </>
        ) : (
          <Verdict name={episode.verdict} />
        )}
      </p>
    </Cell>
  )
}
