import { type ColumnType, storageOf } from './column-types.js'
import { aligned, asBytes } from './columns.js'
import { badRequest, WarpdexError } from './errors.js'
import type { Section, Sections, SectionType } from './frame.js'
import { LIMITS } from './limits.js'
import type { ColumnDefinition, RelationDefinition } from './relation.js'
import type { ColumnValues, RelationBatch } from './relation-batch.js'
import type { RequestReader } from './request-reader.js'

/** The sections of one column of a batch. */
export interface ColumnSections {
  readonly name: string
  readonly values: Section
  readonly validity?: Section | undefined
  /** Of strings: their bytes, and u32 offsets that cut them. */
  readonly strings?: Section | undefined
  readonly offsets?: Section | undefined
}

/** What the sections of a column are called, behind the number of the column and a dot. */
const PARTS = ['values', 'validity', 'strings', 'offsets'] as const

/**
 * The columns of a request: a field `columns` with their names, and the sections of each.
 * @throws WarpdexError `BAD_REQUEST`, `TOO_LARGE`
 */
export function columnSections(r: RequestReader): readonly ColumnSections[] {
  return columnNames(r).map((name, i) => ({
    name,
    values: r.section(`${i}.values`),
    validity: r.optionalSection(`${i}.validity`),
    strings: r.optionalSection(`${i}.strings`),
    offsets: r.optionalSection(`${i}.offsets`),
  }))
}

/** Different names of columns; none where the field is absent. */
export function columnNames(r: RequestReader): readonly string[] {
  const names: unknown = r.value('columns') ?? []
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string')) {
    throw badRequest('"columns" is a list of names')
  }
  if (names.length > LIMITS.relationColumns) {
    throw new WarpdexError(
      'TOO_LARGE',
      `a request has ${names.length} columns; ${LIMITS.relationColumns} are allowed`,
    )
  }
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice !== undefined) throw badRequest(`column ${JSON.stringify(twice)} is there twice`)
  return names
}

/**
 * The batch that a request's sections are; `settleBatch` checks the rest.
 * @throws WarpdexError `BAD_REQUEST`
 */
export function batchFromSections(
  columns: readonly ColumnSections[],
  rows: number,
  definition: RelationDefinition,
): RelationBatch {
  const types = new Map(definition.columns.map(({ name, type }) => [name, type]))
  const values = columns.map((column): readonly [string, ColumnValues] => {
    const { name } = column
    const type = types.get(name)
    const right = type && sectionType(type)
    if (right !== undefined && column.values.type !== right) {
      throw badRequest(
        `the values of column ${JSON.stringify(name)} (${type}) are sent as ${right}, not ${column.values.type}`,
      )
    }
    return [name, valuesOf(column)]
  })
  return { rows, columns: new Map(values) }
}

/** What values travel as: those of 128 bits as two halves each, the lower one first. */
function sectionType(type: ColumnType): SectionType {
  const storage = storageOf(type)
  return storage === 'i128' ? 'u64' : storage
}

function valuesOf({ name, values, validity, strings, offsets }: ColumnSections): ColumnValues {
  const plain = { values: values.bytes, validity: validity?.bytes }
  if ((strings === undefined) !== (offsets === undefined)) {
    throw badRequest(`column ${JSON.stringify(name)} needs both strings and their offsets, or neither`)
  }
  if (strings === undefined || offsets === undefined) return plain
  return { ...plain, strings: { bytes: strings.bytes, offsets: aligned(offsets.bytes, Uint32Array) } }
}

/** The sections of a batch; the field `columns` has the names in the order of the map. */
export function sectionsOfBatch(
  { columns }: RelationBatch,
  definitions: readonly ColumnDefinition[],
): Sections {
  const types = new Map(definitions.map(({ name, type }) => [name, type]))
  const sections: Record<string, Section> = {}
  let i = 0
  for (const [name, { values, validity, strings }] of columns) {
    sections[`${i}.values`] = { type: sectionType(types.get(name) ?? 'u32'), bytes: values }
    if (validity !== undefined) sections[`${i}.validity`] = { type: 'u8', bytes: validity }
    if (strings !== undefined) {
      sections[`${i}.strings`] = { type: 'bytes', bytes: strings.bytes }
      sections[`${i}.offsets`] = { type: 'u32', bytes: asBytes(strings.offsets) }
    }
    i++
  }
  return sections
}

/** The batch of a reply, which is trusted to have what it should. */
export function batchFromReply(
  names: readonly string[],
  rows: number,
  sections: ReadonlyMap<string, Section>,
): RelationBatch {
  const columns = names.map((name, i): readonly [string, ColumnValues] => {
    const [values, validity, strings, offsets] = PARTS.map((part) => sections.get(`${i}.${part}`))
    if (values === undefined) {
      throw new WarpdexError('INTERNAL', `the server sent no values of column ${JSON.stringify(name)}`)
    }
    return [name, valuesOf({ name, values, validity, strings, offsets })]
  })
  return { rows, columns: new Map(columns) }
}
