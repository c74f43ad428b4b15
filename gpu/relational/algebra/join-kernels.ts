import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Access, Kernel, NumberedBinding } from '../../device/kernel.js'
import type { Strategy } from '../../primitives/primitives.js'
import type { ColumnShape } from '../columns.js'
import { tileSumsBinding } from './tile-sums.js'
import { isInTupleOrder, sameShape, type Tuples } from './tuples.js'

/**
 * How tuples find their matches: by a search in the second relation (`join-search.wesl`), or in one of the five ways of Diamos §4.2,
 * by which a workgroup joins two ranges in its own memory (`cta-join.wesl`). Where the CPU is the device, none of them runs.
 */
export const CTA_JOINS = ['search', 'binarySearch', 'blockedSearch', 'bruteForce', 'hash', 'network'] as const
export type CtaJoin = (typeof CTA_JOINS)[number]

const CONDITIONS: Readonly<Record<CtaJoin, string>> = {
  search: 'search',
  binarySearch: 'binary_search',
  blockedSearch: 'blocked_search',
  bruteForce: 'brute_force',
  hash: 'hash',
  network: 'network',
}

export interface JoinOptions {
  readonly first: ColumnShape
  readonly second: ColumnShape
  readonly ctaJoin: CtaJoin
}

/** Whether a join goes by search. */
export function isSearched(strategy: Strategy, { ctaJoin }: JoinOptions): boolean {
  return strategy !== 'serial' && ctaJoin === 'search'
}

/**
 * The shape of a join's tuples: the key, and both payloads.
 * @throws WarpdexError `BAD_REQUEST` if the keys differ in width, or the payloads have more than two words together
 */
export function joinShape(first: ColumnShape, second: ColumnShape): ColumnShape {
  const words = first.payloadWords + second.payloadWords
  if (first.keyWords !== second.keyWords) {
    throw new WarpdexError('BAD_REQUEST', 'relations are joined by keys of the same number of words')
  }
  if (words === 0 || words === 1 || words === 2) return { keyWords: first.keyWords, payloadWords: words }
  throw new WarpdexError(
    'BAD_REQUEST',
    `the join's payload would have ${words} words; project the relations so that it has 2 at most`,
  )
}

/** Bindings that say which tuples a tile has, of `join-list.wesl` or of `join-ranges.wesl`. */
const SEARCHED_BINDINGS: readonly NumberedBinding[] = [
  [4, 'read'],
  [5, 'read'],
]
const RANGE_BINDINGS: readonly NumberedBinding[] = [...SEARCHED_BINDINGS, [6, 'read']]

/** A kernel that counts what a tile has, and one that writes it to columns or to pages. */
export type JoinKernel = 'count_matches' | 'write_matches' | 'join_into_pages'

/** What each kernel binds between the tile and its results, and behind them, but for its list. */
function ownBindings(
  entryPoint: JoinKernel,
  serial: boolean,
): readonly [NumberedBinding[], NumberedBinding[]] {
  switch (entryPoint) {
    case 'count_matches':
      return serial ? [[[7, 'write']], []] : [[], [tileSumsBinding('write')]]
    case 'write_matches':
      return serial
        ? [
            [
              [7, 'read'],
              [8, 'read'],
            ],
            [],
          ]
        : [[], [tileSumsBinding('read')]]
    case 'join_into_pages':
      return [
        [
          [7, 'write'],
          [8, 'write'],
        ],
        [[11, 'write']],
      ]
  }
}

/** A kernel of JOIN; buffers are both relations' keys and payloads, the tiles, and what is its own, around the result's columns. */
export function joinKernel(
  device: Device,
  strategy: Strategy,
  options: JoinOptions,
  entryPoint: JoinKernel,
): Promise<Kernel> {
  const { first, second } = options
  const counting = entryPoint === 'count_matches'
  const paging = entryPoint === 'join_into_pages'
  const searched = isSearched(strategy, options)
  const binding = (number: number, access: Access, has: boolean): readonly NumberedBinding[] =>
    has ? [[number, access]] : []
  const [firstPayload, secondPayload] = [first, second].map(
    ({ payloadWords }) => payloadWords > 0 && !counting,
  ) as [boolean, boolean]
  const [before, behind] = ownBindings(entryPoint, strategy === 'serial')
  return device.kernel({
    module: `relational/algebra/${paging ? 'join-pages' : searched ? 'join-by-search' : 'join'}`,
    entryPoint,
    params: paging ? 5 : 4,
    conditions: joinConditions(strategy, options, entryPoint),
    bindings: ['read', 'read'],
    further: [
      ...binding(2, 'read', firstPayload),
      ...binding(3, 'read', secondPayload),
      ...(searched ? SEARCHED_BINDINGS : RANGE_BINDINGS),
      ...before,
      ...binding(9, 'write', !counting),
      ...binding(10, 'write', firstPayload || secondPayload),
      ...behind,
      ...binding(11, counting ? 'write' : 'read', searched && !paging),
      ...binding(13, counting ? 'write' : 'read', searched && !paging),
    ],
  })
}

function joinConditions(
  strategy: Strategy,
  options: JoinOptions,
  entryPoint: JoinKernel,
): Readonly<Record<string, boolean>> {
  const { first, second, ctaJoin } = options
  const counting = entryPoint === 'count_matches'
  const paging = entryPoint === 'join_into_pages'
  return {
    // An element (`elements.wesl`) is a key.
    wide: first.keyWords === 2,
    pair: first.keyWords === 2,
    serial: strategy === 'serial',
    subgroups: strategy === 'subgroups',
    counting,
    paging,
    keys_only: isSearched(strategy, options) && !paging && isOneWord(options),
    ...(strategy === 'serial' ? {} : { [CONDITIONS[ctaJoin]]: true }),
    first_payload: first.payloadWords > 0 && !counting,
    second_payload: second.payloadWords > 0 && !counting,
    first_wide_payload: first.payloadWords === 2 && !counting,
    second_wide_payload: second.payloadWords === 2 && !counting,
  }
}

/** Whether a join's tuples are keys of one word. */
function isOneWord({ first, second }: JoinOptions): boolean {
  return first.keyWords + first.payloadWords + second.payloadWords === 1
}

/** @throws WarpdexError `BAD_REQUEST` if a relation has another shape than the join was made for */
export function checkJoined(options: JoinOptions, first: Tuples, second: Tuples): void {
  if (sameShape(first.shape, options.first) && sameShape(second.shape, options.second)) return
  throw new WarpdexError('BAD_REQUEST', 'JOIN takes two relations of the shapes that it was made for')
}

/** The order of a join's tuples: those of the second relation come in theirs. */
export function joinOrder(first: Tuples, second: Tuples): Tuples['order'] {
  return isInTupleOrder(first) && second.shape.payloadWords === 0 ? 'tuple' : 'key'
}
