import t from 'tap'
import { asBytes } from '../../../protocol/columns.js'
import { decodeFrame, encodeFrame, type Section } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import { type ControlRequest, parseControlRequest } from '../../../protocol/messages.js'
import { checkQuery } from '../../../protocol/query/check-query.js'
import { packQuery } from '../../../protocol/query/pack-query.js'
import { argumentsOf, type TypedExpression } from '../../../protocol/query/typed.js'

const COLUMNS = [
  { name: 'u', type: 'u32', nullable: false },
  { name: 's', type: 'string', nullable: false },
] as const
const where = (column: string, values: readonly unknown[], lists?: unknown) => ({
  op: 'where',
  input: { op: 'scan', relation: 'r' },
  condition: { op: 'in', args: [{ column }, ...values.map((value) => ({ value }))], lists },
})

/** By way of a frame, as a server reads it. */
function checked(fields: object, sections: Readonly<Record<string, Section>>): TypedExpression {
  const request = parseControlRequest(decodeFrame(encodeFrame({ id: 1, op: 'query', ...fields }, sections)))
  const { query, lists } = request as ControlRequest<'query'>
  const node = checkQuery(query, () => COLUMNS, lists)
  if (node.op !== 'where') throw new Error('no condition')
  return node.condition
}

function constants(expression: TypedExpression): unknown[] {
  return expression.kind === 'constant' ? [expression.value] : argumentsOf(expression).flatMap(constants)
}

t.test('long lists travel as columns, and mean the same', async (t) => {
  const packed = packQuery(where('u', [...Array(100).keys(), null, 7]))
  t.same(packed.fields.query, where('u', [null], [0]))
  t.equal(packed.fields.lists, 1)
  const values = constants(checked(packed.fields, packed.sections))
  t.same(values, [null, ...Array.from({ length: 100 }, (_, i) => BigInt(i))])
  const texts = Array.from({ length: 100 }, (_, i) => `ß${i}`)
  const strings = packQuery(where('s', ['', ...texts]))
  t.same(constants(checked(strings.fields, strings.sections)), ['', ...texts])
  const half = where('s', [...texts, '\ud800'])
  t.same(packQuery(half).fields.query, where('s', ['\ud800'], [0]), 'half of a pair stays where it is')
  const short = where('u', [1, 2, 3])
  t.same(packQuery(short).fields, { query: short, lists: undefined }, 'short ones stay where they are')
  const odd = [undefined, 1.5, 2 ** 60, true, { value: 1, type: 'f32' }, [], 'x']
  const kept = where('u', [...Array(100).keys(), ...odd]).condition
  const wrong = packQuery({ ...short, condition: kept }).fields.query as typeof short
  t.same(
    wrong.condition.args.slice(1).map((part) => ('value' in part ? part.value : part)),
    [undefined, 2 ** 60, true, { value: 1, type: 'f32' }, []],
    'what is wrong is left for the server to find',
  )
  for (const tree of [undefined, null, 7, [], { op: 'in' }]) t.same(packQuery(tree).fields.query, tree)
})

t.test('lists that are wrong are refused', async (t) => {
  const words = { type: 'u32', bytes: asBytes(Uint32Array.of(0, 1)) } as const
  const bytes = (...values: number[]) => ({ type: 'bytes', bytes: Uint8Array.from(values) }) as const
  const offsets = (...values: number[]) =>
    ({ type: 'u32', bytes: asBytes(Uint32Array.from(values)) }) as const
  const many = { type: 'u32', bytes: new Uint8Array(4 * (LIMITS.queryListValues / 2 + 1)) } as const
  const [u, s] = [where('u', [], [0]), where('s', [], [0])]
  const cases: readonly (readonly [object, Record<string, Section>, RegExp])[] = [
    [{ query: u, lists: 1 }, {}, /list 0 of a query needs a section "0.values"/],
    [{ query: u, lists: 1 }, { '0.values': words, '0.texts': bytes() }, /list 0 of a query needs/],
    [{ query: s, lists: 1 }, { '0.texts': bytes() }, /list 0 of a query needs/],
    [{ query: u, lists: LIMITS.queryLists + 1 }, {}, /129 lists of constants; 128 are allowed/],
    [{ query: u }, { '0.values': words }, /has no section "0.values"/],
    [{ query: where('u', [], [1]), lists: 1 }, { '0.values': words }, /there is no list 1; 1 came/],
    [{ query: where('u', [], ['0']), lists: 1 }, { '0.values': words }, /there is no list "0"/],
    [{ query: u, lists: 1 }, { '0.values': bytes(1) }, /constants of a list are u32, .* not bytes/],
    [{ query: s, lists: 1 }, { '0.values': words }, /string and i64 do not go together/],
    [{ query: s, lists: 1 }, { '0.texts': bytes(0xff), '0.offsets': offsets(0, 1) }, /not UTF-8/],
    [{ query: s, lists: 1 }, { '0.texts': bytes(97), '0.offsets': offsets(0, 2) }, /offsets of a list/],
    [{ query: s, lists: 1 }, { '0.texts': bytes(97), '0.offsets': offsets(0, 2, 1) }, /offsets of a list/],
    [{ query: s, lists: 1 }, { '0.texts': bytes(), '0.offsets': offsets() }, /offsets of a list/],
    [{ query: where('u', [], [0, 0]), lists: 1 }, { '0.values': many }, /at most 16384 constants/],
  ]
  for (const [fields, sections, message] of cases) {
    t.throws(() => checked(fields, sections), { code: 'BAD_REQUEST', message }, String(message))
  }
})
