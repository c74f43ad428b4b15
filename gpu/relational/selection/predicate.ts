import type { DeviceMemory } from '../../memory/page-run.js'
import { RowCode } from '../expressions/row-code.js'
import { loadOfQuad } from '../expressions/row-text.js'
import type { RowColumn, RowValue } from '../expressions/row-value.js'
import { type QueryColumn, valueWords } from '../query/query-column.js'
import type { SelectionTile } from './selection-tile.js'

/*
 * The module `plan`, which `mark.wesl` calls for the conditions of a kernel of a plan. Conditions are code over one row, which quads of four rows
 * are loaded for. Of (a & b) && c, where a and c are columns of one word, b has two and may be null, and c is text, over all rows:
 *
 *   fn tests_0(args0: vec4u, args1: vec4u, c0: u32, c1: vec2u, c2: bool) -> u32 { … }     1 where a row passes
 *   fn dear_row_1(row: u32) -> u32 { let args2 = args[2u]; let v3 = source4[row]; … }     what is dear reads its row itself
 *   fn dear_rows_1(rows: vec4u, left: u32) -> u32 { … }                                   of the rows in a nibble those that pass, one by one
 *
 *   const QUADS = 1u;
 *
 *   fn passes(quads: vec4u, possible: vec4u) -> vec4u {
 *     let args0 = args[0u];
 *     let args1 = args[1u];
 *     var left_0 = possible.x;
 *     {
 *       let at_0 = quads.x;
 *       let c0_0 = source0[at_0];                                         and so on: all loads of a group before its tests
 *       left_0 &= nibble(tests_0(args0, args1, c0_0.x, c1_0.xy, (c2_0 & 1u) != 0u), … );
 *     }
 *     if (left_0 != 0u) {
 *       let at_0 = select(0u, quads.x, left_0 != 0u);                     a quad of which nothing is left is not read
 *       left_0 &= dear_rows_1(quad_rows(quads.x), left_0);
 *     }
 *     return vec4u(left_0, 0u, 0u, 0u);
 *   }
 *
 * Of the entries of a list `at` is the rows of a quad's entries, `vec4u`, and loads are of one row each.
 */

/** A condition in a form that a kernel can evaluate. */
export interface Test {
  /** Adds what tests a row: a boolean that is never null. */
  readonly build: (code: PredicateCode) => RowValue
  /** Whether it is for rows only that the tests before have left, one by one. */
  readonly isDear: boolean
  /** Of an alternative, whose branches may be evaluated one after the other. */
  readonly branches?: readonly (readonly Test[])[] | undefined
}

/** Tests in groups: those of a group are all evaluated, those of the next for entries that have passed. */
export type Groups = readonly (readonly Test[])[]

/** First binding of what a predicate reads; those before are of `mark.wesl`. */
export const FIRST_SOURCE = 4

const COMPONENTS = ['x', 'y', 'z', 'w'] as const

/** What is loaded for a quad: values of one word or two, or bits by row (a validity) or by entry. */
interface Load {
  readonly kind: 'word' | 'wide' | 'bits' | 'marks'
  /** Of the array. */
  readonly source: string
  /** Of the function's parameter. */
  readonly name: string
}

/** A group's tests of the rows of a quad, by one function. */
interface QuadTests {
  readonly name: string
  readonly quads: readonly number[]
  readonly loads: readonly Load[]
  readonly hasFaults: boolean
}

interface Group {
  readonly tests: QuadTests | undefined
  /** Functions for rows that are left. */
  readonly dear: readonly string[]
}

/**
 * The predicate of groups of tests.
 * @param columns that expressions mean by their numbers
 * @param isListed whether entries are those of a list
 */
export function predicateOf(
  columns: readonly QueryColumn[],
  groups: Groups,
  isListed: boolean,
  tile: SelectionTile,
): PredicateCode {
  const code = new PredicateCode(columns, isListed, tile)
  for (const group of groups) if (group.length > 0) code.addGroup(group)
  return code
}

/** Puts the predicate of one kernel together. */
export class PredicateCode extends RowCode {
  readonly #isListed: boolean
  readonly #tile: SelectionTile
  readonly #groups: Group[] = []
  readonly #functionTexts: string[] = []
  readonly #texts: string[] = []
  /** Of the function at hand; undefined where that reads its row by number. */
  #loads: Load[] | undefined

  constructor(columns: readonly QueryColumn[], isListed: boolean, tile: SelectionTile) {
    super(
      columns.map((source) => ({ source, rows: undefined })),
      'row',
      FIRST_SOURCE,
    )
    this.#isListed = isListed
    this.#tile = tile
  }

  /** Adds tests that are evaluated together, but for dear ones. */
  addGroup(tests: readonly Test[]): void {
    const quick = tests.filter(({ isDear }) => !isDear)
    const dear = tests.filter(({ isDear }) => isDear)
    this.#groups.push({
      tests: quick.length === 0 ? undefined : this.#addQuadTests(quick),
      dear: dear.map((test) => this.#addRowTest(test)),
    })
  }

  override column(column: QueryColumn | RowColumn): RowValue {
    if (this.#loads === undefined) return super.column(column)
    const { type, values, validity, dictionary } = 'source' in column ? column.source : column
    const words = valueWords(type)
    const value = this.#load(words === 2 ? 'wide' : 'word', values)
    const valid = validity && this.#load('bits', validity)
    return { type, words, value, valid, fault: undefined, dictionary }
  }

  /** A boolean for each entry. */
  marks(bits: DeviceMemory): RowValue {
    return this.computed('boolean', `select(0u, 1u, ${this.#load('marks', bits)})`)
  }

  /** The number that `match.wesl` has for strings of a dictionary. */
  texts(buffer: DeviceMemory): number {
    const name = this.bind(buffer, 'u32')
    const known = this.#texts.indexOf(name)
    return known >= 0 ? known : this.#texts.push(name) - 1
  }

  /** The text of the module. */
  get text(): string {
    const quads = this.#quadsAtOnce()
    const each = (line: (q: number) => string) => Array.from({ length: quads }, (_, q) => line(q))
    const left = each((q) => `left_${q}`)
    const args = this.#groups.flatMap(({ tests }) => tests?.quads ?? [])
    return [
      this.imports,
      'import package::relational::selection::quads::{listed_rows, nibble, place_bits, quad_bits, quad_rows};',
      this.declarations,
      ...textReaders(this.#texts),
      ...this.#functionTexts,
      `const QUADS = ${quads}u;`,
      'fn passes(quads: vec4u, possible: vec4u) -> vec4u {',
      ...[...new Set(args)].map((quad) => `  ${loadOfQuad(quad)}`),
      ...each((q) => `  var left_${q} = possible.${COMPONENTS[q]};`),
      ...(this.#isListed ? each((q) => `  let rows_${q} = listed_rows(${quadOf(q)});`) : []),
      ...this.#groups.flatMap((group, i) => [
        i === 0 ? '  {' : `  if ((${left.join(' | ')}) != 0u) {`,
        ...each((q) => `    let at_${q} = ${this.#place(q, i === 0)};`),
        ...(group.tests?.loads ?? []).flatMap((load) => each((q) => this.#loadText(load, q))),
        ...each((q) => (group.tests === undefined ? '' : `    left_${q} &= ${callOf(group.tests, q)};`)),
        ...group.dear.flatMap((name) =>
          each((q) => `    left_${q} &= ${name}(${this.#rows(q)}, left_${q});`),
        ),
        '  }',
      ]),
      `  return vec4u(${[...left, '0u', '0u', '0u'].slice(0, 4).join(', ')});`,
      '}',
      '',
    ].join('\n')
  }

  /** A function of the tests of a row. */
  #addQuadTests(tests: readonly Test[]): QuadTests {
    const loads: Load[] = []
    this.#loads = loads
    const { passes, hasFaults } = this.#all(tests, 'wanted & ')
    this.#loads = undefined
    const { quads, statements } = this.takeStatements()
    const name = `tests_${this.#functionTexts.length}`
    const parameters = [
      ...quads.map((quad) => `args${quad}: vec4u`),
      ...loads.map(
        ({ kind, name }) => `${name}: ${{ word: 'u32', wide: 'vec2u', bits: 'bool', marks: 'bool' }[kind]}`,
      ),
      ...(hasFaults ? ['wanted: bool'] : []),
    ]
    this.#addFunction(`${name}(${parameters.join(', ')}) -> u32`, [...statements, `return ${passes};`])
    return { name, quads, loads, hasFaults }
  }

  /** A function of the rows that are set in the nibble `left`, which looks at one after the other. */
  #addRowTest(test: Test): string {
    const { passes } = this.#all([test], '')
    const { quads, statements } = this.takeStatements()
    const number = this.#functionTexts.length
    this.#addFunction(`dear_row_${number}(row: u32) -> u32`, [
      ...quads.map(loadOfQuad),
      ...statements,
      `return ${passes};`,
    ])
    this.#addFunction(`dear_rows_${number}(rows: vec4u, left: u32) -> u32`, [
      'var passing = 0u;',
      'var next = rows;',
      'for (var i = 0u; i < 4u; i++) {',
      `  if ((left & (1u << i)) != 0u) { passing |= dear_row_${number}(next.x) << i; }`,
      '  next = next.yzwx;',
      '}',
      'return passing;',
    ])
    return `dear_rows_${number}`
  }

  #addFunction(head: string, statements: readonly string[]): void {
    this.#functionTexts.push([`fn ${head} {`, ...statements.map((line) => `  ${line}`), '}'].join('\n'))
  }

  /** Whether a row passes all tests; only faults of rows that do are noted, and only where another condition holds. */
  #all(tests: readonly Test[], condition: string): { readonly passes: string; readonly hasFaults: boolean } {
    const values = tests.map((test) => test.build(this))
    const all = this.computed('boolean', values.map(({ value }) => value).join(' & '))
    const faults = values.flatMap(({ fault }) => fault ?? [])
    if (faults.length > 0) {
      this.noted({ ...all, fault: `${condition}(${all.value} != 0u) & (${faults.join(' | ')})` })
    }
    return { passes: all.value, hasFaults: faults.length > 0 }
  }

  #load(kind: Load['kind'], buffer: DeviceMemory): string {
    const isQuad = !this.#isListed && (kind === 'word' || kind === 'wide')
    const source = this.bind(buffer, isQuad ? 'vec4u' : kind === 'wide' ? 'vec2u' : 'u32')
    const loads = this.#loads!
    const known = loads.find((load) => load.kind === kind && load.source === source)
    if (known !== undefined) return known.name
    const name = `c${loads.length}`
    loads.push({ kind, source, name })
    return name
  }

  /**
   * As many as keep a load of each column of the largest group under way, and few others. What is dear is evaluated a row after the other, whatever the
   * number of quads.
   */
  #quadsAtOnce(): 1 | 2 | 4 {
    if (this.weight > this.#tile.writtenOut || this.#groups.some(({ dear }) => dear.length > 0)) return 1
    const words = ({ tests }: Group) =>
      (tests?.loads ?? []).reduce((sum, { kind }) => sum + (kind === 'wide' ? 2 : 1), 0)
    const most = Math.max(1, ...this.#groups.map(words))
    return most * 4 <= this.#tile.loads ? 4 : most * 2 <= this.#tile.loads ? 2 : 1
  }

  /** The rows of a quad's entries. */
  #rows(q: number): string {
    return this.#isListed ? `rows_${q}` : `quad_rows(${quadOf(q)})`
  }

  /** Where a group reads: nowhere in particular where nothing is left of the quad. */
  #place(q: number, isFirst: boolean): string {
    const at = this.#isListed ? `rows_${q}` : quadOf(q)
    return isFirst ? at : `select(${this.#isListed ? 'vec4u()' : '0u'}, ${at}, left_${q} != 0u)`
  }

  /** Loads for the rows of a quad; of two words each, for two rows at a time. */
  #loadText({ kind, source, name }: Load, q: number): string {
    const at = `at_${q}`
    const rows = (components: string, suffix = '') =>
      [...components].map((c) => `${source}[${at}.${c}${suffix}]`).join(', ')
    const lines = {
      word: () => [this.#isListed ? `vec4u(${rows('xyzw')})` : `${source}[${at}]`],
      wide: () =>
        this.#isListed
          ? [`vec4u(${rows('xy')})`, `vec4u(${rows('zw')})`]
          : [`${source}[2u * ${at}]`, `${source}[2u * ${at} + 1u]`],
      bits: () => [
        this.#isListed
          ? `place_bits(vec4u(${rows('xyzw', ' / 32u')}), ${at})`
          : `quad_bits(${source}[${at} / 8u], ${at})`,
      ],
      marks: () => [`quad_bits(${source}[${quadOf(q)} / 8u], ${quadOf(q)})`],
    }[kind]()
    return lines.map((line, i) => `    let ${['', 'second_'][i]}${name}_${q} = ${line};`).join('\n')
  }
}

/** The nibble of the rows of a quad that pass. */
function callOf({ name, quads, loads, hasFaults }: QuadTests, q: number): string {
  const rows = COMPONENTS.map((component, i) => {
    const bit = `${1 << i}u) != 0u`
    const args = [
      ...quads.map((quad) => `args${quad}`),
      ...loads.map(({ kind, name }) => {
        if (kind === 'word') return `${name}_${q}.${component}`
        if (kind === 'wide') return `${['', 'second_'][i >> 1]}${name}_${q}.${['xy', 'zw'][i & 1]}`
        return `(${name}_${q} & ${bit}`
      }),
      ...(hasFaults ? [`(left_${q} & ${bit}`] : []),
    ]
    return `${name}(${args.join(', ')})`
  })
  return `nibble(${rows.join(', ')})`
}

/** By which `match.wesl` reads dictionaries and what they are compared with: bindings cannot be arguments. */
function textReaders(texts: readonly string[]): string[] {
  if (texts.length === 0) return []
  const cases = texts.map((name, i) => {
    const label = i === texts.length - 1 ? 'default' : `case ${i}u`
    return `    ${label}: { return ${name}[word]; }`
  })
  return [
    'fn text_word(texts: u32, word: u32) -> u32 {',
    '  switch (texts) {',
    ...cases,
    '  }',
    '}',
    'fn pattern_word(place: u32) -> u32 { return tables[place]; }',
  ]
}

function quadOf(q: number): string {
  return `quads.${COMPONENTS[q]}`
}
