import { columnWords } from '../../../protocol/column-types.js'
import { strict } from './operators.js'
import type { RowText } from './row-text.js'
import { type RowValue, wgslType } from './row-value.js'
import type { TextExpression, TextTable } from './text-tables.js'

/** Adds what looks a function of strings up in its table. */
export function textResult(
  code: RowText,
  { type }: TextExpression,
  { dictionary, words: results, faults, choices, takesNull }: TextTable,
  strings: readonly RowValue[],
): RowValue {
  const places = strings.map(({ value, valid }, i) => {
    const isChosen = takesNull && valid !== undefined
    // Behind all strings comes what a null counts as.
    return isChosen ? `select(${code.word(choices[i]! - 1)}, ${value}, ${valid})` : value
  })
  const [one, other] = places
  const at = code.let(other === undefined ? one! : `${one} * ${code.word(choices[1]!)} + ${other}`)
  const first = code.table(results)
  const words = columnWords(type)
  const each = Array.from({ length: words }, (_, i) => `tables[${first} + ${words}u * ${at} + ${i}u]`)
  const result = words === 1 ? each[0]! : `${wgslType(words)}(${each.join(', ')})`
  const fails = faults && `((tables[${code.table(faults)} + ${at} / 32u] >> (${at} % 32u)) & 1u) != 0u`
  const from = takesNull ? strings.map((string) => ({ ...string, valid: undefined })) : strings
  return { ...strict(code, type, result, from, fails), dictionary }
}
