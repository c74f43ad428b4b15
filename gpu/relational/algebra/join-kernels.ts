import { WarpdexError } from '../../../protocol/errors.js'
import type { Device } from '../../device/device.js'
import type { Kernel, KernelDescription, NumberedBinding } from '../../device/kernel.js'
import type { ColumnShape, Strategy } from '../../primitives/primitives.js'
import { PATH_WORDS, PairCutter, pathTile } from './pairs.js'
import { isInTupleOrder, sameShape, type Tuples } from './tuples.js'

/**
 * How a workgroup joins two ranges in its own memory: the five ways of Diamos §4.2 (`cta-join.wesl`), or by merging them
 * (`join-path.wesl`). Where the CPU is the device, none of them runs.
 */
export const CTA_JOINS = [
  'mergePath',
  'binarySearch',
  'blockedSearch',
  'bruteForce',
  'hash',
  'network',
] as const
export type CtaJoin = (typeof CTA_JOINS)[number]

const CONDITIONS: Readonly<Record<CtaJoin, string>> = {
  mergePath: 'merge_path',
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

/** Elements of a tile over keys of one word; as in `join-tile.wesl` and `cta-join.wesl`. */
const TILE = { cooperative: 2048, serial: 512 }

/** Elements of a tile of a join. */
export function joinTile(strategy: Strategy, { first, ctaJoin }: JoinOptions): number {
  if (strategy !== 'serial' && ctaJoin === 'mergePath')
    return pathTile(strategy, 'join', keysOnly(first), false)
  return strategy === 'serial' ? TILE.serial : TILE.cooperative / first.keyWords
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

/** Bindings of `join-tile.wesl` that say which elements a tile has. */
const TILE_BINDINGS: readonly NumberedBinding[] = [
  [4, 'read'],
  [5, 'read'],
  [6, 'read'],
]

/** A kernel that counts what a tile has, and one that writes it to columns or to pages. */
export type JoinKernel = 'count_matches' | 'write_matches' | 'join_into_pages'

/** What each kernel binds between the tile and its results, and behind them. */
const OWN_BINDINGS: Readonly<Record<JoinKernel, readonly [NumberedBinding[], NumberedBinding[]]>> = {
  count_matches: [[[7, 'write']], []],
  write_matches: [
    [
      [7, 'read'],
      [8, 'read'],
    ],
    [],
  ],
  join_into_pages: [
    [
      [7, 'write'],
      [8, 'write'],
    ],
    [[11, 'write']],
  ],
}

/** A kernel of JOIN; buffers are both relations' keys and payloads, the pairs, and what is its own, around the result's columns. */
export function joinKernel(
  device: Device,
  strategy: Strategy,
  options: JoinOptions,
  entryPoint: JoinKernel,
): Promise<Kernel> {
  const { first, second, ctaJoin } = options
  const counting = entryPoint === 'count_matches'
  const [firstPayload, secondPayload] = [first, second].map(
    ({ payloadWords }) => payloadWords > 0 && !counting,
  ) as [boolean, boolean]
  const serial = strategy === 'serial'
  const binding = (number: number, access: 'read' | 'write', has: boolean): readonly NumberedBinding[] =>
    has ? [[number, access]] : []
  const [before, behind] = OWN_BINDINGS[entryPoint]
  const hasPath = entryPoint !== 'join_into_pages' && pathWords(strategy, options) > 0
  const result: readonly NumberedBinding[] = [
    [9, 'write'],
    ...binding(10, 'write', firstPayload || secondPayload),
  ]
  const description: KernelDescription = {
    module: entryPoint === 'join_into_pages' ? 'relational/algebra/join-pages' : 'relational/algebra/join',
    entryPoint,
    params: entryPoint === 'join_into_pages' ? 5 : 4,
    conditions: {
      wide: first.keyWords === 2,
      serial,
      subgroups: strategy === 'subgroups',
      counting,
      ...(serial ? {} : { [CONDITIONS[ctaJoin]]: true }),
      // For the modules that the set operators have, too.
      join: true,
      pair: first.keyWords === 2,
      first_payload: firstPayload,
      second_payload: secondPayload,
      first_wide_payload: first.payloadWords === 2 && !counting,
      second_wide_payload: second.payloadWords === 2 && !counting,
    },
    bindings: ['read', 'read'],
    further: [
      ...binding(2, 'read', firstPayload),
      ...binding(3, 'read', secondPayload),
      ...TILE_BINDINGS,
      ...before,
      ...(counting ? [] : result),
      ...behind,
      ...binding(11, counting ? 'write' : 'read', hasPath),
    ],
  }
  return device.kernel(description)
}

/** What is compared of tuples, whatever lies beside their keys. */
function keysOnly({ keyWords }: ColumnShape): ColumnShape {
  return { keyWords, payloadWords: 0 }
}

/** Cuts relations for a join. */
export function joinCutter(device: Device, { first }: JoinOptions): Promise<PairCutter> {
  return PairCutter.create(device, keysOnly(first), false)
}

/** Words of the path that a tile's merging leaves; 0 if it leaves none. */
export function pathWords(strategy: Strategy, { ctaJoin }: JoinOptions): number {
  return strategy !== 'serial' && ctaJoin === 'mergePath' ? PATH_WORDS : 0
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
