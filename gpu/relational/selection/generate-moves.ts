import { type ValueWords, wgslType } from '../expressions/row-value.js'

/*
 * The text of the module `moves`, which `emit.wesl` calls to write what is wanted of four entries that have passed. Of the numbers of rows, and
 * of a column of two words which may be null, where entries are those of a list:
 *
 *   @group(0) @binding(4) var<storage, read> list: array<u32>;
 *   @group(0) @binding(5) var<storage, read_write> output_0: array<u32>;
 *   @group(0) @binding(6) var<storage, read> source_1: array<vec2u>;
 *   @group(0) @binding(7) var<storage, read_write> output_1: array<vec2u>;
 *   @group(0) @binding(8) var<storage, read> source_2: array<u32>;
 *   @group(0) @binding(9) var<storage, read_write> output_2: array<atomic<u32>>;
 *
 *   fn move_entries(entries: vec4u, places: vec4u, present: vec4<bool>) {
 *     let rows_x = list[entries.x];                                       … y, z, w
 *     let a1_x = source_1[rows_x];                                        … all loads before the first store
 *     let a2_x = source_2[rows_x / 32u] & (1u << (rows_x % 32u));
 *     if (present.x) {
 *       output_0[places.x] = rows_x;
 *       output_1[places.x] = a1_x;
 *       if (a2_x == 0u) { atomicAnd(&output_2[places.x / 32u], ~(1u << (places.x % 32u))); }
 *     }                                                                   … y, z, w
 *   }
 */

/** What is written of an entry: its row, a value of one word, two or four at its row, or a bit there, into ones. */
export type MoveKind = 'row' | ValueWords | 'bit'

const LIST = 4
/** First number of a binding that moves can have. */
const FIRST_MOVE = 5
const COMPONENTS = ['x', 'y', 'z', 'w'] as const

/** The text of the module for what is wanted. */
export function generateMoves(moves: readonly MoveKind[], listed: boolean): string {
  let binding = FIRST_MOVE
  const declare = (access: string, name: string, type: string) =>
    `@group(0) @binding(${binding++}) var<storage, ${access}> ${name}: array<${type}>;`
  const declarations = moves.flatMap((kind, i) => {
    const type = typeof kind === 'number' ? wgslType(kind) : 'u32'
    const output = declare.bind(undefined, 'read_write', `output_${i}`, kind === 'bit' ? 'atomic<u32>' : type)
    return kind === 'row' ? [output()] : [declare('read', `source_${i}`, type), output()]
  })
  return [
    ...(listed ? [`@group(0) @binding(${LIST}) var<storage, read> list: array<u32>;`] : []),
    ...declarations,
    'fn move_entries(entries: vec4u, places: vec4u, present: vec4<bool>) {',
    ...COMPONENTS.map((c) => `  let rows_${c} = ${listed ? `list[entries.${c}]` : `entries.${c}`};`),
    ...moves.flatMap((kind, i) => COMPONENTS.flatMap((c) => load(kind, i, c))),
    ...COMPONENTS.flatMap((c) => [
      `  if (present.${c}) {`,
      ...moves.map((kind, i) => `    ${store(kind, i, c)}`),
      '  }',
    ]),
    '}',
    '',
  ].join('\n')
}

function load(kind: MoveKind, i: number, c: string): string[] {
  if (kind === 'row') return []
  const row = `rows_${c}`
  const value = kind === 'bit' ? `source_${i}[${row} / 32u] & (1u << (${row} % 32u))` : `source_${i}[${row}]`
  return [`  let a${i}_${c} = ${value};`]
}

function store(kind: MoveKind, i: number, c: string): string {
  const place = `places.${c}`
  if (kind === 'row') return `output_${i}[${place}] = rows_${c};`
  if (kind !== 'bit') return `output_${i}[${place}] = a${i}_${c};`
  return `if (a${i}_${c} == 0u) { atomicAnd(&output_${i}[${place} / 32u], ~(1u << (${place} % 32u))); }`
}
