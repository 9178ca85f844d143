import { compact } from '../format'
import { Num } from './Num'

/** A number of tokens; all digits on hover. */
export function Tokens({ value }: { value: number | null | undefined }) {
  return <Num value={value} form={compact} unit="tokens" />
}
