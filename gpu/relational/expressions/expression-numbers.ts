import { getOrInsert } from '../../../protocol/get-or-insert.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'
import { constantBits } from './ordered-numbers.js'

/** Numbers expressions, equal ones alike. */
export class ExpressionNumbers {
  readonly #known = new Map<TypedExpression, number>()
  readonly #forms = new Map<string, number>()

  of(expression: TypedExpression): number {
    return getOrInsert(this.#known, expression, () => {
      return getOrInsert(this.#forms, this.#form(expression), () => this.#forms.size)
    })
  }

  #form(expression: TypedExpression): string {
    const { kind, type } = expression
    const parts: (string | number)[] = [kind, type, ...argumentsOf(expression).map((part) => this.of(part))]
    if (kind === 'column') parts.push(expression.index)
    if (kind === 'arithmetic' || kind === 'comparison') parts.push(expression.op)
    if (kind === 'call') parts.push(expression.function)
    if (kind === 'match') parts.push(expression.match, expression.text)
    if (kind === 'constant') {
      const { value } = expression
      parts.push(
        typeof value === 'string'
          ? JSON.stringify(value)
          : value === null
            ? 'null'
            : `${constantBits(value, type)}`,
      )
    }
    return parts.join(' ')
  }
}
