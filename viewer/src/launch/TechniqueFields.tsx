import { useDocument } from '../api/query'
import { Check } from '../form/Check'
import form from '../form/form.module.css'
import { TextArea } from '../form/TextArea'
import type { PartProps } from './LaunchForm'
import type { ChosenTechnique } from './runRequest'
import { exampleOf, parametersOf, parameterWords } from './techniques'

/** The techniques that the vow declares; each can be switched on, with parameters of one's own. */
export function TechniqueFields({ request, set, problems }: PartProps) {
  const known = useDocument('/api/techniques')
  if (request.techniques.length === 0) return null
  const about = (id: string) => known.data?.find((one) => one.id === id)
  const change = (id: string, with_: Partial<ChosenTechnique>) =>
    set({ techniques: request.techniques.map((one) => (one.id === id ? { ...one, ...with_ } : one)) })
  return (
    <fieldset className={form.group}>
      <legend>Techniques</legend>
      {request.techniques.map((one) => (
        <div key={one.id} className={form.field}>
          <Check
            label={one.id}
            hint={about(one.id)?.description.split('\n')[0]}
            checked={one.on}
            onChange={(on) => change(one.id, { on })}
          />
          {one.on && (
            <TextArea
              label={`Parameters of ${one.id}`}
              optional
              rows={2}
              placeholder={exampleOf(parametersOf(about(one.id)?.config_schema))}
              hint={`As JSON. Leave empty to use those of the vow. ${parameterWords(parametersOf(about(one.id)?.config_schema))}`}
              value={one.params}
              onChange={(params) => change(one.id, { params })}
              problem={problems[`technique ${one.id}`]}
            />
          )}
        </div>
      ))}
    </fieldset>
  )
}
