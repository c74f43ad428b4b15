import t from 'tap'
import { layoutWords, parseLayout, sameLayout } from '../../protocol/layout-options.js'
import type { TreeLayout } from '../../protocol/traversal.js'
import { parseTraversal } from '../../protocol/traversal-options.js'

t.test('a traversal is a strategy, with a resolution where it has one', async (t) => {
  t.equal(parseTraversal({}), undefined)
  t.equal(parseTraversal({ strategy: null, resolution: undefined }), undefined)
  t.strictSame(parseTraversal({ strategy: 'sequential' }), { strategy: 'sequential' })
  const reversed = { strategy: 'directed', resolution: 'reversed' }
  t.strictSame(parseTraversal(reversed), reversed)
  const refused = (given: object, message: RegExp) =>
    t.throws(() => parseTraversal(given), { code: 'BAD_REQUEST', message })
  refused({ strategy: 'fast' }, /unknown strategy "fast"; use one of sequential, speculative, hier/)
  refused({ strategy: 7 }, /unknown strategy 7/)
  refused({ strategy: 'directed', resolution: 'x'.repeat(99) }, /"x{39}…; use one of serial, reversed/)
  const needed = /needs a strategy that has one: speculative, hierarchical, directed/
  refused({ resolution: 'serial' }, needed)
  refused({ strategy: 'sequential', resolution: 'serial' }, needed)
})

t.test('what a layout says of the defaults is left out', async (t) => {
  const forms: [object, TreeLayout][] = [
    [{}, {}],
    [{ layout: 'compact', allocation: 'demand', partitionLevels: null, linked: null }, {}],
    [{ linked: false }, {}],
    [{ layout: 'compact', linked: true }, { linked: true }],
    [{ partitionLevels: 'auto' }, { structure: 'prefix' }],
    [{ structure: 'prefix', partitionLevels: 'auto' }, { structure: 'prefix' }],
    [{ partitionLevels: 'none' }, { partitionLevels: 'none' }],
    [{ layout: 'compact', partitionLevels: 64 }, { partitionLevels: 64 }],
    [{ layout: 'full', allocation: 'demand' }, { layout: 'full' }],
    [{ layout: 'full', partitionLevels: 'auto' }, { layout: 'full' }],
    [
      { layout: 'full', allocation: 'coalesced', partitionLevels: 1 },
      { layout: 'full', allocation: 'coalesced', partitionLevels: 1 },
    ],
    [
      { layout: 'full', allocation: 'demand', partitionLevels: 1, linked: true },
      { layout: 'full', partitionLevels: 1, linked: true },
    ],
  ]
  const settled = ({ structure = 'prefix', ...others }: TreeLayout) =>
    JSON.stringify({ structure, ...others })
  for (const [given, expected] of forms) {
    t.strictSame(parseLayout(given), expected)
    t.strictSame(parseLayout(expected), expected, 'the form is its own form')
    for (const [other] of forms) {
      const same = settled(parseLayout(other)) === settled(expected)
      t.equal(sameLayout(parseLayout(other), expected), same)
    }
  }
})

t.test('layouts that are none are refused, saying what is right', async (t) => {
  const refused = (given: object, message: RegExp) =>
    t.throws(() => parseLayout(given), { code: 'BAD_REQUEST', message })
  refused({ layout: 'wide' }, /unknown layout "wide"; use one of compact, full/)
  refused({ allocation: true }, /unknown allocation true; use one of demand, coalesced/)
  refused({ allocation: 'coalesced' }, /allocation coalesced needs layout full/)
  refused({ layout: 'full', partitionLevels: 'none' }, /a full tree has partitions/)
  for (const partitionLevels of [0, 65, 1.5, -1, '8', Number.NaN, [8]]) {
    refused({ partitionLevels }, /use auto, none or a whole number from 1 to 64/)
  }
  for (const linked of ['true', 1, 0, []]) refused({ linked }, /linked cannot be .*; use true or false/)
})

t.test('in words there is what is not as by default', async (t) => {
  t.strictSame(layoutWords({}), [])
  t.strictSame(layoutWords({ layout: 'full', allocation: 'coalesced', partitionLevels: 3, linked: true }), [
    'full layout',
    'coalesced allocation',
    'partition levels 3',
    'linked',
  ])
})
