import t from 'tap'
import { cellText, cellValue } from '../../../clients/cli/import/cells.js'
import { inferColumns } from '../../../clients/cli/import/inference.js'
import { jsonFields, NumberText } from '../../../clients/cli/import/json-line.js'
import { showNumber } from '../../../clients/cli/number-keys.js'
import type { ColumnType } from '../../../protocol/relation.js'
import { Random, seedOfRun } from '../../random.js'

const records = (cells: readonly unknown[]) =>
  cells.map((cell, i) => ({ line: i + 2, cells: new Map([['v', cell]]) }))
const typeOf = (...cells: readonly unknown[]) => inferColumns(records(cells))[0]?.type

/** A decimal as a whole number of units of ten to the power of −400. */
function exactly(text: string): bigint {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(400 - fraction.length + Number(power))
}

t.test('a column is of a type that holds its texts, or of strings', async (t) => {
  const cases: readonly (readonly [ColumnType, ...string[]])[] = [
    ['u32', '0', '4294967295', ' 7 '],
    ['i32', '-1', '2147483647'],
    ['i64', '-1', '4294967295'],
    ['u64', '18446744073709551615', '0'],
    ['f32', '0.1', '-2.50', '1e3', '.5', '16777216', 'NaN', '-inf', 'Infinity'],
    ['f32', '-0'],
    ['string', '-1', '18446744073709551615'],
    ['string', '123456789', '1.5'],
    ['string', '12345678901234567890123', '12345678901234567890124'],
    ['string', '3.141592653589793'],
    ['string', '1e300'],
    ['string', '1e-60'],
    ['string', '01234'],
    ['string', '007.5'],
    ['string', '+49'],
    ['string', '0x10'],
    ['string', 'NaN', 'x'],
    ['u32', 'true', 'False'],
    ['string', 'true', '1'],
  ]
  for (const [type, ...texts] of cases) t.equal(typeOf(...texts), type, texts.join(' '))
  t.equal(typeOf(null, undefined), 'string', 'nothing')
  t.equal(typeOf(true, false, null), 'u32', 'truth values of JSON')
  t.equal(typeOf(true, 1), 'string')
  t.equal(typeOf(1.5, 'NaN'), 'f32', 'as a query prints floats')
  t.equal(typeOf(1, '2'), 'string')
  t.equal(typeOf('1', '2'), 'u32')
})

t.test('what a random column of numbers holds are the numbers of the file', async (t) => {
  const seed = seedOfRun()
  t.comment(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  for (let round = 0; round < 2000; round++) {
    const digits = Array.from({ length: 1 + random.below(22) }, () => random.below(10)).join('')
    const at = random.below(2 * digits.length)
    const point = at > 0 && at < digits.length ? `${digits.slice(0, at)}.${digits.slice(at)}` : digits
    const power = random.below(4) === 0 ? `e${random.below(60) - 30}` : ''
    const text = `${random.below(3) === 0 ? '-' : ''}${point}${power}`
    const type = typeOf(text)
    const value = cellValue(records([text])[0]!, { name: 'v', type: type!, nullable: false })
    const held = type === 'string' ? String(value) : showNumber(value as number | bigint, type!)
    if (exactly(held) !== exactly(text)) t.fail(`${text} became ${held} (${type})`)
  }
})

t.test('numbers of JSON keep their digits', async (t) => {
  const line =
    '{"a":9007199254740993,"t":"9007199254740993","n":{"a":12345678901234567890},"l":[1e400],"b":0.5,' +
    '"x\\":1e999,\\"":-18446744073709551615,"e":1e3,"big":1e999,"small":1e-999,"a":9007199254740995}'
  const fields = jsonFields(line)
  t.same(
    [...(fields ?? [])].map(([name, value]) => [name, cellText(value)]),
    [
      ['a', '9007199254740995'],
      ['t', '9007199254740993'],
      ['n', undefined],
      ['l', undefined],
      ['b', '0.5'],
      ['x":1e999,"', '-18446744073709551615'],
      ['e', '1000'],
      ['big', '1e999'],
      ['small', '1e-999'],
    ],
  )
  t.ok(fields?.get('a') instanceof NumberText)
  t.equal(cellText(jsonFields('{"z":-0}')?.get('z')), '-0')
  t.equal(jsonFields('[12345678901234567890]'), undefined)
  t.equal(jsonFields('{"a":12345678901234567890,"a":null}')?.get('a'), null)
  t.throws(() => jsonFields('{"a":12345678901234567890'), SyntaxError)
})
