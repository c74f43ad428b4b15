import { MATCHES } from '../../../protocol/query/tree.js'
import { type PredicateShape, type SourceKind, type TestShape, testWords } from './predicate-shape.js'

/*
 * The text of the module `plan`, which `mark.wesl` calls for the conditions of a kernel of a plan. Of (a & b) && c, where a and c are columns
 * of one word and b is one of two which may be null, over all rows, two quads of them at a time:
 *
 *   @group(0) @binding(6) var<storage, read> source_0: array<vec4u>;     likewise source_1 and source_3; source_2: array<u32>
 *   fn load_0(at: u32) -> vec4u { return source_0[at]; }
 *   fn load_1(at: u32) -> Wide { return wide_quad(source_1[2u * at], source_1[2u * at + 1u]); }
 *   fn load_2(at: u32) -> u32 { return quad_bits(source_2[at / 8u], at); }
 *   fn load_3(at: u32) -> vec4u { return source_3[at]; }
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

/** First binding of the sources. */
export const FIRST_SOURCE = 6

const COMPONENTS = ['x', 'y', 'z', 'w'] as const

const HELPERS = [
  'Wide',
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
 * The text of the module for predicates of a shape.
 * @param loads values of a quad that are loaded side by side, at most: more would take registers that other loads need to be under way; where
 *   the CPU is the device one after the other is as good, and compiled sooner
 */
export function generatePredicate(shape: PredicateShape, loads: number): string {
  const quads = quadsAtOnce(shape, loads)
  const each = (line: (q: number) => string) => Array.from({ length: quads }, (_, q) => line(q))
  const left = each((q) => `left_${q}`)
  return [
    `import package::relational::selection::value_tests::{${HELPERS.join(', ')}};`,
    'import package::relational::selection::arguments::argument;',
    'import package::relational::selection::entries::listed_rows;',
    `import package::relational::selection::match::{${MATCHES.map((match) => `match_${match}`).join(', ')}};`,
    ...shape.sources.flatMap((kind, i) => [declaration(shape, kind, i), loader(shape, kind, i)]),
    ...textWord(shape.sources),
    `const QUADS = ${quads}u;`,
    'fn passes(quads: vec4u, possible: vec4u) -> vec4u {',
    ...each((q) => `  var left_${q} = possible.${COMPONENTS[q]};`),
    ...(shape.listed ? each((q) => `  let rows_${q} = listed_rows(quads.${COMPONENTS[q]});`) : []),
    ...shape.groups.flatMap((group, i) => [
      i === 0 ? '  {' : `  if ((${left.join(' | ')}) != 0u) {`,
      ...each((q) => `    let at_${q} = ${place(shape, q, i === 0)};`),
      ...sourcesOf(group).flatMap((source) =>
        each((q) => `    let a${source}_${q} = ${load(shape, source, q)};`),
      ),
      ...group.flatMap((test) => each((q) => `    left_${q} &= ${answer(shape, test, q)};`)),
      '  }',
    ]),
    `  return vec4u(${[...left, '0u', '0u', '0u'].slice(0, 4).join(', ')});`,
    '}',
    '',
  ].join('\n')
}

/**
 * As many as keep a load of each column of the largest group under way, and few others. Texts are compared a row after the other, whatever the
 * number of quads.
 */
function quadsAtOnce({ groups, sources }: PredicateShape, loads: number): 1 | 2 | 4 {
  if (sources.includes('texts')) return 1
  const words = (group: readonly TestShape[]) =>
    sourcesOf(group).reduce((sum, source) => sum + (sources[source] === 'wide' ? 2 : 1), 0)
  const most = Math.max(1, ...groups.map(words))
  return most * 4 <= loads ? 4 : most * 2 <= loads ? 2 : 1
}

function declaration({ listed }: PredicateShape, kind: SourceKind, i: number): string {
  const ofRows = kind === 'wide' ? 'vec2u' : 'u32'
  const element = (kind === 'word' || kind === 'wide') && !listed ? 'vec4u' : ofRows
  return `@group(0) @binding(${FIRST_SOURCE + i}) var<storage, read> source_${i}: array<${element}>;`
}

/** How a source is read at a quad's entries, or for a table at four values. */
function loader({ listed }: PredicateShape, kind: SourceKind, i: number): string {
  const source = `source_${i}`
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
      return listed ? bitsAtPlaces : bitsOfQuad
    case 'word':
      return listed
        ? `${atRows} -> vec4u { return vec4u(${each('')}); }`
        : `${atQuad} -> vec4u { return ${source}[at]; }`
    case 'wide':
      return listed
        ? `${atRows} -> Wide { return wide_rows(${each('')}); }`
        : `${atQuad} -> Wide { return wide_quad(${source}[2u * at], ${source}[2u * at + 1u]); }`
  }
}

/** By which `match.wesl` reads dictionaries: bindings cannot be arguments. */
function textWord(sources: readonly SourceKind[]): string[] {
  const cases = sources.flatMap((kind, i) =>
    kind === 'texts' ? [`    case ${i}u: { return source_${i}[word]; }`] : [],
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

function place({ listed }: PredicateShape, q: number, isFirst: boolean): string {
  const at = listed ? `rows_${q}` : quad(q)
  return isFirst ? at : `select(${listed ? 'vec4u()' : '0u'}, ${at}, left_${q} != 0u)`
}

function load({ sources }: PredicateShape, source: number, q: number): string {
  return `load_${source}(${sources[source] === 'marks' ? quad(q) : `at_${q}`})`
}

function quad(q: number): string {
  return `quads.${COMPONENTS[q]}`
}

function loaded(source: number, q: number): string {
  return `a${source}_${q}`
}

/** The sources that tests read at entries, once each. */
function sourcesOf(tests: readonly TestShape[]): number[] {
  const found = new Set<number>()
  const add = (source: number | undefined) => {
    if (source !== undefined) found.add(source)
  }
  const collect = (test: TestShape) => {
    if (test.kind === 'any') test.branches.flat().forEach(collect)
    else if (test.kind === 'marked') add(test.marks)
    else {
      if (test.kind !== 'fixed') add(test.values)
      add(test.validity)
    }
  }
  tests.forEach(collect)
  return [...found]
}

/** The expression for a test's answer for a quad, which need be right only for what is left of it. */
function answer(shape: PredicateShape, test: TestShape, q: number): string {
  switch (test.kind) {
    case 'any': {
      const branches = test.branches.map((branch) => branch.map((part) => answer(shape, part, q)).join(' & '))
      return branches.length === 0
        ? '0u'
        : `(${branches.map((branch) => `(${branch || '15u'})`).join(' | ')})`
    }
    case 'marked':
      return loaded(test.marks, q)
    case 'fixed': {
      const fixed = `argument(${test.at}u)`
      return test.validity === undefined ? fixed : unlessNull(fixed, test.validity, q, test.at + 1)
    }
    case 'lookUp': {
      const bits = `load_${test.table}(${loaded(test.values, q)})`
      return test.validity === undefined ? bits : `(${bits} & ${loaded(test.validity, q)})`
    }
    case 'text': {
      const codes =
        test.values === undefined ? `(4u * ${quad(q)} + vec4u(0u, 1u, 2u, 3u))` : loaded(test.values, q)
      const rows = test.validity === undefined ? `left_${q}` : `left_${q} & ${loaded(test.validity, q)}`
      return `match_${test.match}(${test.texts}u, ${codes}, ${rows}, ${test.at}u)`
    }
    default:
      return within(shape, test, q)
  }
}

function within(
  { sources }: PredicateShape,
  test: Extract<TestShape, { kind: 'interval' | 'intervals' | 'table' }>,
  q: number,
): string {
  const wide = sources[test.values] === 'wide'
  const words = testWords(test.kind, wide)
  const values = test.float ? `ordered_floats(${loaded(test.values, q)})` : loaded(test.values, q)
  const name = `within_${wide ? 'wide_' : ''}${test.kind}`
  const parts = Array.from({ length: test.count }, (_, i) => `${name}(${values}, ${test.at + i * words}u)`)
  const all = parts.length === 1 ? parts[0]! : `(${parts.join(' | ')})`
  return test.validity === undefined ? all : unlessNull(all, test.validity, q, test.at + test.count * words)
}

function unlessNull(known: string, validity: number, q: number, at: number): string {
  return `unless_null(${known}, ${loaded(validity, q)}, ${at}u)`
}
