import { Check } from '../form/Check'
import form from '../form/form.module.css'
import { TextArea } from '../form/TextArea'
import type { PartProps } from './LaunchForm'
import type { ChosenTechnique } from './order'

/** The techniques that the vow declares; each can be switched on, with parameters of one's own. */
export function TechniqueFields({ order, set, problems }: PartProps) {
  if (order.techniques.length === 0) return null
  const change = (id: string, with_: Partial<ChosenTechnique>) =>
    set({ techniques: order.techniques.map((one) => (one.id === id ? { ...one, ...with_ } : one)) })
  return (
    <fieldset className={form.group}>
      <legend>Techniques</legend>
      {order.techniques.map((one) => (
        <div key={one.id} className={form.field}>
          <Check label={one.id} checked={one.on} onChange={(on) => change(one.id, { on })} />
          {one.on && (
            <TextArea
              label={`Parameters of ${one.id}`}
              optional
              rows={2}
              placeholder="{}"
              hint="In JSON; left empty, those of the vow hold."
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
