import { money } from '../format'
import { Num } from './Num'

/** An amount of US dollars; all digits on hover. No price known is a dash, never $0. */
export function Money({ usd }: { usd: number | null | undefined }) {
  return <Num value={usd} form={money} unit="USD" />
}
