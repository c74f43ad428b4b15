import t from 'tap'
import { type Attribute, layOut } from '../../../../gpu/relational/algebra/attributes.js'
import {
  type Comparison,
  MOST_TERMS,
  termsOf,
  termWords,
} from '../../../../gpu/relational/algebra/predicate.js'
import { select } from './model.js'

const OPERATORS: readonly Comparison['operator'][] = ['=', '<>', '<', '<=', '>', '>=']

/** Values of an attribute, and constants, at which comparisons turn. */
const TURNING = [0, 1, 2, 126, 127, 128, 254, 255, 256, 300, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1]

/** What `select-terms.wesl` does with a term and the word that it looks at. */
const holds = (word: number, [what, first, span]: readonly number[]) =>
  ((word << (what! >>> 2)) - first!) >>> 0 <= span!

t.test('terms hold for the numbers for which comparisons do', async (t) => {
  const layouts: readonly (readonly Attribute[])[] = [
    [{ name: 'x', bits: 32 }],
    [
      { name: 'x', bits: 8 },
      { name: 'y', bits: 24 },
    ],
    [
      { name: 'y', bits: 17 },
      { name: 'x', bits: 8 },
      { name: 'z', bits: 7 },
    ],
    [
      { name: 'y', bits: 31 },
      { name: 'x', bits: 1 },
    ],
  ]
  for (const attributes of layouts) {
    const layout = layOut(attributes)
    const { shift, bits } = layout.key.find(({ name }) => name === 'x')!
    const words = TURNING.filter((value) => value < 2 ** bits).flatMap((value) =>
      // What lies beside the field must not matter.
      [0, 0xffff_ffff].map((others) => {
        const field = (2 ** bits - 1) * 2 ** shift
        return ((others & ~field) | (value * 2 ** shift)) >>> 0
      }),
    )
    for (const operator of OPERATORS) {
      for (const constant of TURNING) {
        const predicate = [{ attribute: 'x', operator, constant }]
        const terms = termsOf(layout, predicate)
        const params = termWords(terms ?? [])
        const found = words.filter(
          (word) =>
            terms !== undefined &&
            Array.from({ length: MOST_TERMS }, (_, i) => params.slice(3 * i, 3 * i + 3)).every((term) =>
              holds(word, term),
            ),
        )
        const tuples = words.map((word) => ({ key: BigInt(word), payload: 0n }))
        const wanted = select(tuples, layout, predicate).map(({ key }) => Number(key))
        t.same(found, wanted, `${bits} bits from ${shift}: x ${operator} ${constant}`)
      }
    }
  }
})

t.test('comparisons that always hold are no terms, and one that never holds leaves none', async (t) => {
  const layout = layOut([{ name: 'x', bits: 8 }])
  t.same(termsOf(layout, [{ attribute: 'x', operator: '<', constant: 256 }]), [])
  t.same(termsOf(layout, [{ attribute: 'x', operator: '<>', constant: 256 }]), [])
  t.equal(
    termsOf(layout, [
      { attribute: 'x', operator: '>', constant: 3 },
      { attribute: 'x', operator: '>', constant: 255 },
    ]),
    undefined,
  )
})
