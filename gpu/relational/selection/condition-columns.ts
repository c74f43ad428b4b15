import { columnsRead } from '../../../protocol/query/typed.js'
import type { Condition } from './selection-types.js'

/** Numbers of the columns that a condition looks at, each as often as it does. */
export function columnsOf(condition: Condition): number[] {
  switch (condition.kind) {
    case 'any':
      return condition.branches.flat().flatMap(columnsOf)
    case 'expression':
      return columnsRead(condition.expression)
    default:
      return [condition.column]
  }
}
