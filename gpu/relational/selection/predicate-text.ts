import { MATCHES } from '../../../protocol/query/tree.js'
import { EXPRESSION_FAULT } from '../query/device-work.js'
import type { Test } from './tests.js'

/*
 * The text of the module `plan`, which `mark.wesl` calls for the conditions of a kernel of a plan. Of (a & b) && c, where a and c are columns
 * of one word and b is one of two which may be null, over all rows, two quads of them at a time:
 *
 *   @group(0) @binding(5) var<storage, read> input_0: array<vec4u>;     likewise input_1 and input_3; input_2: array<u32>
 *   fn load_0(at: u32) -> vec4u { return input_0[at]; }
 *   fn load_1(at: u32) -> Wide { return wide_quad(input_1[2u * at], input_1[2u * at + 1u]); }
 *   fn load_2(at: u32) -> u32 { return quad_bits(input_2[at / 8u], at); }
 *   fn load_3(at: u32) -> vec4u { return input_3[at]; }
 *
 *   const QUADS = 2u;
 *
 *   fn passes(quads: vec4u, possible: vec4u) -> vec4u {
 *     var left_0 = possible.x;
 *     var left_1 = possible.y;
 *     {
 *       let at_0 = quads.x;
 *       let at_1 = quads.y;
 *       let a0_0 = load_0(at_0);
 *       let a0_1 = load_0(at_1);                                         and so on: all loads of a group before its tests
 *       left_0 &= within_interval(a0_0, 0u);
 *       left_1 &= within_interval(a0_1, 0u);
 *       left_0 &= unless_null(within_wide_interval(a1_0, 2u), a2_0, 6u);
 *       left_1 &= unless_null(within_wide_interval(a1_1, 2u), a2_1, 6u);
 *     }
 *     if ((left_0 | left_1) != 0u) {
 *       let at_0 = select(0u, quads.x, left_0 != 0u);                    a quad of which nothing is left is not read
 *       …
 *     }
 *     return vec4u(left_0, left_1, 0u, 0u);
 *   }
 *
 * Of the entries of a list `at` is the rows of a quad's entries, `vec4u`, and loads are of one row each. Numbers in the text are places of
 * arguments; what stands there is not part of it.
 */

/**
 * What a predicate reads beside its arguments: values of one word or two, bits by row (a validity), by entry or by value, or the texts
 * of a dictionary.
 */
export type SourceKind = 'word' | 'wide' | 'bits' | 'marks' | 'table' | 'texts'

/** The expression of something for quad number `q` of those that are evaluated at a time. A test's need be right only for what is left of it. */
export type Answer = (q: number) => string

/** Tests that are evaluated together. */
export interface Group {
  /** Numbers of the sources that they read at entries. */
  readonly sources: readonly number[]
  readonly answers: readonly Answer[]
}

/** An expression, whose code is of `EXPRESSION_ROW`. */
export type ExpressionTest = Extract<Test, { kind: 'expression' }>

/** What a predicate's text is made of. */
interface Parts {
  readonly sources: readonly SourceKind[]
  /** Whether entries are those of a list. */
  readonly isListed: boolean
  readonly groups: readonly Group[]
  readonly expression: ExpressionTest | undefined
}

/** First binding of the sources. */
export const FIRST_SOURCE = 5
/** Bindings of an expression, which are many and have numbers of their own. */
const FAULTS = 64
export const FIRST_OF_EXPRESSION = 65
/** The name of the row that an expression's code is of. */
export const EXPRESSION_ROW = 'row'

const COMPONENTS = ['x', 'y', 'z', 'w'] as const

const HELPERS = [
  'Wide',
  'nibble',
  'ordered_floats',
  'place_bits',
  'quad_bits',
  'unless_null',
  'wide_quad',
  'wide_rows',
  'within_interval',
  'within_intervals',
  'within_table',
  'within_wide_interval',
  'within_wide_intervals',
  'within_wide_table',
]

/**
 * The text of the module.
 * @param loads values of a quad that are loaded side by side, at most: more would take registers that other loads need to be under way; where
 *   the CPU is the device one after the other is as good, and compiled sooner
 */
export function predicateText(parts: Parts, loads: number): string {
  const { sources, isListed, groups, expression } = parts
  const quads = quadsAtOnce(parts, loads)
  const each = (line: (q: number) => string) => Array.from({ length: quads }, (_, q) => line(q))
  const left = each((q) => `left_${q}`)
  return [
    expression?.code.imports ?? '',
    `import package::relational::selection::value_tests::{${HELPERS.join(', ')}};`,
    'import package::relational::selection::arguments::argument;',
    'import package::relational::selection::entries::listed_rows;',
    `import package::relational::selection::match::{${MATCHES.map((match) => `match_${match}`).join(', ')}};`,
    ...sources.flatMap((kind, i) => [declaration(isListed, kind, i), loader(isListed, kind, i)]),
    ...textWord(sources),
    ...(expression === undefined ? [] : expressionRows(expression, loads)),
    `const QUADS = ${quads}u;`,
    'fn passes(quads: vec4u, possible: vec4u) -> vec4u {',
    ...each((q) => `  var left_${q} = possible.${COMPONENTS[q]};`),
    ...(isListed ? each((q) => `  let rows_${q} = listed_rows(${quadOf(q)});`) : []),
    ...groups.flatMap((group, i) => [
      i === 0 ? '  {' : `  if ((${left.join(' | ')}) != 0u) {`,
      ...each((q) => `    let at_${q} = ${place(isListed, q, i === 0)};`),
      ...group.sources.flatMap((source) =>
        each((q) => {
          const at = sources[source] === 'marks' ? quadOf(q) : `at_${q}`
          return `    let a${source}_${q} = load_${source}(${at});`
        }),
      ),
      ...group.answers.flatMap((answer) => each((q) => `    left_${q} &= ${answer(q)};`)),
      '  }',
    ]),
    `  return vec4u(${[...left, '0u', '0u', '0u'].slice(0, 4).join(', ')});`,
    '}',
    '',
  ].join('\n')
}

/**
 * As many as keep a load of each column of the largest group under way, and few others. Texts are compared a row after the other, whatever the
 * number of quads, and an expression is written out for each row.
 */
function quadsAtOnce({ groups, sources, expression }: Parts, loads: number): 1 | 2 | 4 {
  if (sources.includes('texts') || expression !== undefined) return 1
  const words = ({ sources: read }: Group) =>
    read.reduce((sum, source) => sum + (sources[source] === 'wide' ? 2 : 1), 0)
  const most = Math.max(1, ...groups.map(words))
  return most * 4 <= loads ? 4 : most * 2 <= loads ? 2 : 1
}

function declaration(isListed: boolean, kind: SourceKind, i: number): string {
  const ofRows = kind === 'wide' ? 'vec2u' : 'u32'
  const element = (kind === 'word' || kind === 'wide') && !isListed ? 'vec4u' : ofRows
  return `@group(0) @binding(${FIRST_SOURCE + i}) var<storage, read> input_${i}: array<${element}>;`
}

/** How a source is read at a quad's entries, or for a table at four values. */
function loader(isListed: boolean, kind: SourceKind, i: number): string {
  const source = `input_${i}`
  const each = (suffix: string) => COMPONENTS.map((c) => `${source}[at.${c}${suffix}]`).join(', ')
  const atRows = `fn load_${i}(at: vec4u)`
  const atQuad = `fn load_${i}(at: u32)`
  const bitsAtPlaces = `${atRows} -> u32 { return place_bits(vec4u(${each(' / 32u')}), at); }`
  const bitsOfQuad = `${atQuad} -> u32 { return quad_bits(${source}[at / 8u], at); }`
  switch (kind) {
    case 'texts':
      return ''
    case 'table':
      return bitsAtPlaces
    case 'marks':
      return bitsOfQuad
    case 'bits':
      return isListed ? bitsAtPlaces : bitsOfQuad
    case 'word':
      return isListed
        ? `${atRows} -> vec4u { return vec4u(${each('')}); }`
        : `${atQuad} -> vec4u { return ${source}[at]; }`
    case 'wide':
      return isListed
        ? `${atRows} -> Wide { return wide_rows(${each('')}); }`
        : `${atQuad} -> Wide { return wide_quad(${source}[2u * at], ${source}[2u * at + 1u]); }`
  }
}

/** Code that is written out for each row of a quad, whose loads are under way side by side then, as `RowText.weight` has it. */
const WRITTEN_OUT = 64

/** Of the rows that are set in the nibble `left`, those that an expression lets through. Only faults of these are noted. */
function expressionRows({ code, passes: { value, fault } }: ExpressionTest, loads: number): string[] {
  const rows = COMPONENTS.map((c, i) => `expression_row(rows.${c}, (left & ${1 << i}u) != 0u)`)
  const together = ['  if (left == 0u) { return 0u; }', `  return nibble(vec4<bool>(${rows.join(', ')}));`]
  const oneByOne = [
    '  var passing = 0u;',
    '  var next = rows;',
    '  for (var i = 0u; i < 4u; i++) {',
    '    let bit = left & (1u << i);',
    '    if (bit != 0u && expression_row(next.x, true)) { passing |= bit; }',
    '    next = next.yzwx;',
    '  }',
    '  return passing;',
  ]
  const faults = `@group(0) @binding(${FAULTS}) var<storage, read_write> faults: array<atomic<u32>>;`
  const note = `  if (wanted && ${fault}) { atomicOr(&faults[0], ${EXPRESSION_FAULT}u); }`
  return [
    code.declarations,
    ...(fault === undefined ? [] : [faults]),
    `fn expression_row(${EXPRESSION_ROW}: u32, wanted: bool) -> bool {`,
    `  ${code.statements}`,
    ...(fault === undefined ? [] : [note]),
    `  return ${value} != 0u;`,
    '}',
    'fn expression_rows(rows: vec4u, left: u32) -> u32 {',
    ...(loads > 1 && code.weight <= WRITTEN_OUT ? together : oneByOne),
    '}',
  ]
}

/** By which `match.wesl` reads dictionaries: bindings cannot be arguments. */
function textWord(sources: readonly SourceKind[]): string[] {
  const cases = sources.flatMap((kind, i) =>
    kind === 'texts' ? [`    case ${i}u: { return input_${i}[word]; }`] : [],
  )
  if (cases.length === 0) return []
  const [first] = cases.splice(-1)
  return [
    'fn text_word(texts: u32, word: u32) -> u32 {',
    '  switch (texts) {',
    ...cases,
    first!.replace(/case \d+u/, 'default'),
    '  }',
    '}',
  ]
}

/** Where a group reads: nowhere in particular where nothing is left of the quad. */
function place(isListed: boolean, q: number, isFirst: boolean): string {
  const at = isListed ? `rows_${q}` : quadOf(q)
  return isFirst ? at : `select(${isListed ? 'vec4u()' : '0u'}, ${at}, left_${q} != 0u)`
}

/** The rows of a quad. */
export function rowsOf(isListed: boolean, q: number): string {
  return isListed ? `rows_${q}` : `(4u * ${quadOf(q)} + vec4u(0u, 1u, 2u, 3u))`
}

/** The number of a quad. */
function quadOf(q: number): string {
  return `quads.${COMPONENTS[q]}`
}
