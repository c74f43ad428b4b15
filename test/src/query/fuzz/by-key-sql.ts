import type { SetOperator } from '../../../../protocol/query/tree.js'
import { quoted } from './random-expression.js'

/** A set operator by key (Diamos et al. Table 1) in SQL, which has none; no key is null. */
export function byKeySql(op: SetOperator, left: string, right: string, byKey: readonly string[]): string {
  const condition = byKey.map((name) => `o.${quoted(name)} = x.${quoted(name)}`).join(' and ')
  const isIn = (side: string) => `exists (select 1 from (${side}) o where ${condition})`
  if (op === 'intersect') return `select * from (${left}) x where ${isIn(right)}`
  if (op === 'except') return `select * from (${left}) x where not ${isIn(right)}`
  return `select * from ((${left}) union all (select * from (${right}) x where not ${isIn(left)}))`
}
