import { Marked } from '../renderers/Marked'
import { brief } from '../renderers/marks'
import { clip } from './clip'
import { modelWords } from './model'

/** Which model, and how much of it. */
interface ModelNameProps {
  model: string
  /** Without the server that it is asked at. */
  short?: boolean
}

/** The name of a model, and in grey the server that it is asked at; all of it on hover. */
export function ModelName({ model, short = false }: ModelNameProps) {
  const { name, server } = modelWords(model)
  return (
    <span data-full={clip(model, 1_000)}>
      <bdi>
        <Marked text={brief(name, 200)} />
      </bdi>
      {!short && server !== '' && (
        <span className="muted">
          {' at '}
          <bdi>
            <Marked text={brief(server, 80)} />
          </bdi>
        </span>
      )}
    </span>
  )
}
