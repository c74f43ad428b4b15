import { columnOf, NO_VALUES } from '../../../protocol/columns.js'
import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import { encodeFrame, type Section, type Sections } from '../../../protocol/frame.js'
import { LIMITS } from '../../../protocol/limits.js'
import { decodeBatch } from '../../../protocol/query/batch-section.js'
import { checkQuery } from '../../../protocol/query/check-query.js'
import type { ConstantList } from '../../../protocol/query/constant-lists.js'
import type { ResultBatch } from '../../../protocol/query/result.js'
import type { QueryNode } from '../../../protocol/query/tree.js'
import type { NamedColumn } from '../../../protocol/query/typed.js'
import type { ColumnDefinition, RelationInfo } from '../../../protocol/relation.js'
import type { ColumnValues } from '../../../protocol/relation-batch.js'
import { sectionsOfBatch } from '../../../protocol/relation-sections.js'
import type { Spread } from '../../../protocol/spread.js'
import { type Bounds, UNBOUNDED } from '../call-options.js'
import type { Connection } from '../connection.js'
import type { Reply } from '../reply.js'
import { distribute, type Gathered, relationsIn } from './distribute.js'

/** What a request has of its tables. */
interface TableFields {
  readonly name: string
  readonly columns: readonly ColumnDefinition[]
  readonly of?: readonly (string | null)[]
}

/** Fields of a request that are looked at, as somebody sent them. */
interface QueryFields {
  readonly query?: unknown
  readonly sql?: { readonly text: string } | undefined
  readonly lists?: number | undefined
  readonly tables?: readonly TableFields[] | undefined
  readonly explain?: boolean | undefined
  readonly keep?: unknown
}

/** A table that was gathered, as it travels. */
interface Table {
  readonly fields: TableFields
  readonly frames: readonly Uint8Array[]
}

/** Queries over the replica sets of a cluster, and their results. */
export class ClusterQueries {
  readonly #connections: readonly Connection[]
  readonly #results = new Map<number, Result>()
  #lastCursor = 0

  /** @param connections one to each replica set */
  constructor(connections: readonly Connection[]) {
    this.#connections = connections
  }

  /**
   * Begins a query.
   * @param relations by name
   * @throws WarpdexError also `BAD_REQUEST` for what is not done with relations that are spread by rows, `TOO_LARGE` for more than a table may have
   */
  async start(
    relations: ReadonlyMap<string, RelationInfo>,
    fields: QueryFields,
    sections: Sections,
    bounds: Bounds,
  ): Promise<Reply<'query'>> {
    const asked = new AskedQuery(relations, fields, sections)
    const [home] = this.#connections as [Connection]
    if (!asked.isOverParts) return this.#begin(new Result([home], asked, {}), bounds)
    if (fields.sql !== undefined) {
      const planned = await asked.ask(home, { plan: true }, bounds)
      const { sql: _, ...others } = fields
      const tree = { ...others, ...planned.fields.plan }
      return this.start(relations, tree, { ...sections, ...Object.fromEntries(planned.sections) }, bounds)
    }
    const { steps, at, node } = asked.distributed()
    const tables: Table[] = []
    for (const step of steps) tables.push(await this.#gather(asked, step, tables, bounds))
    return this.#begin(new Result(this.#connectionsAt(at), asked, { node, tables }), bounds)
  }

  /** More rows of a result. */
  async next(cursor: number, bounds: Bounds): Promise<Reply<'queryNext'>> {
    const result = this.#results.get(cursor)
    if (result === undefined) throw notOpen(cursor)
    try {
      const { reply, more } = await result.next(bounds)
      if (!more) this.#results.delete(cursor)
      return { ...reply, fields: { batch: reply.fields.batch!, more } }
    } catch (error) {
      this.#results.delete(cursor)
      throw error
    }
  }

  /** Ends a result before it is read. */
  async end(cursor: number, bounds: Bounds): Promise<Reply<'queryEnd'>> {
    const result = this.#results.get(cursor)
    if (result === undefined) throw notOpen(cursor)
    this.#results.delete(cursor)
    return result.end(bounds)
  }

  #connectionsAt(at: Gathered['at']): readonly Connection[] {
    return at === 'parts' ? this.#connections : this.#connections.slice(0, 1)
  }

  async #begin(result: Result, bounds: Bounds): Promise<Reply<'query'>> {
    const { reply, more } = await result.next(bounds)
    if (!more) return reply
    const cursor = ++this.#lastCursor
    this.#results.set(cursor, result)
    return { ...reply, fields: { ...reply.fields, cursor } }
  }

  /** Fetches rows, from all replica sets side by side. */
  async #gather(asked: AskedQuery, step: Gathered, tables: readonly Table[], bounds: Bounds): Promise<Table> {
    const { name, at, node } = step
    const frames: Uint8Array[] = []
    let [rows, bytes] = [0, 0]
    let columns: readonly ColumnDefinition[] = []
    const take = ({ fields, sections }: Reply<'query'>) => {
      const batch = decodeBatch(fields.batch!, sections.get('data')!.bytes)
      columns = batch.columns.map(({ name, type, nullable }) => ({ name, type, nullable }))
      const frame = appendFrameOf(name, batch)
      rows += batch.rows
      bytes += frame.byteLength
      if (rows > LIMITS.batchItems || bytes > LIMITS.frameBytes / 2) throw tooMuch(step)
      if (batch.rows > 0) frames.push(frame)
    }
    const read = async (connection: Connection) => {
      const result = new Result([connection], asked, { node, tables })
      try {
        for (let more = true; more; ) {
          const next = await result.next(bounds)
          take(next.reply)
          more = next.more
        }
      } catch (error) {
        void result.end(UNBOUNDED).catch(() => {})
        throw error
      }
    }
    await Promise.all(this.#connectionsAt(at).map(read))
    return { fields: { name, columns, of: asked.sourcesOf(step, columns) }, frames }
  }
}

/** What one replica set is asked for: a part of a query instead of the whole, with tables that it scans, or the tree of a statement. */
interface QueryPart {
  readonly node?: QueryNode
  readonly tables?: readonly Table[]
  readonly plan?: boolean
}

/** A query as it came, over relations of which some may be spread. */
class AskedQuery {
  readonly #relations: ReadonlyMap<string, RelationInfo>
  readonly #fields: QueryFields
  readonly #sections: Sections
  readonly #tables: ReadonlyMap<string, TableFields>
  /** Of the relations that it may name. */
  readonly #spread: Readonly<Record<string, Spread>>

  constructor(relations: ReadonlyMap<string, RelationInfo>, fields: QueryFields, sections: Sections) {
    this.#relations = relations
    this.#fields = fields
    this.#sections = sections
    const tables = Array.isArray(fields.tables) ? (fields.tables as readonly TableFields[]) : []
    this.#tables = new Map(tables.map((table) => [Object(table).name, table]))
    const text = String(Object(fields.sql).text).toLowerCase()
    const scanned = relationsIn(fields.query)
    const spread = [...relations.values()].flatMap(({ name, spread }): [string, Spread][] => {
      const isNamed = scanned.has(name) || text.includes(name.toLowerCase().replaceAll('"', '""'))
      return spread === undefined || !isNamed || this.#tables.has(name) ? [] : [[name, spread]]
    })
    this.#spread = Object.fromEntries(spread)
  }

  /** Whether it is over relations that are spread by rows. */
  get isOverParts(): boolean {
    return Object.values(this.#spread).includes('rows')
  }

  /** @throws WarpdexError as `checkQuery`; `BAD_REQUEST` for what is not done */
  distributed() {
    const { query, explain, keep } = this.#fields
    const what = keep === undefined ? explain === true && 'explain' : 'keep'
    if (what !== false) {
      const names = Object.keys(this.#spread).filter((name) => this.#spread[name] === 'rows')
      throw badRequest(
        `"${what}" is not done over relations that are spread by rows, as ${names.join(', ')}; read the rows instead`,
      )
    }
    this.#columnsOf(query)
    // It was checked.
    return distribute(query as QueryNode, {
      spreadOf: (name) => (this.#tables.has(name) ? 'copies' : this.#spread[name]),
      isNullable: (groups, i) => this.#columnsOf(groups)[groups.keys.length + i]!.nullable,
    })
  }

  /** Asks one replica set. */
  ask(
    connection: Connection,
    { node, tables = [], plan }: QueryPart,
    bounds: Bounds,
  ): Promise<Reply<'query'>> {
    const scanned = relationsIn(node)
    const used = tables.filter(({ fields }) => scanned.has(fields.name))
    const frames = used.flatMap(({ frames }) => frames)
    const own = Object.keys(this.#sections).filter((name) => name.startsWith('rows.')).length
    const rows = frames.map((bytes, i): [string, Section] => [`rows.${own + i}`, { type: 'bytes', bytes }])
    const given =
      used.length === 0 ? {} : { tables: [...this.#tables.values(), ...used.map(({ fields }) => fields)] }
    const fields = { ...this.#fields, ...(node && { query: node }), ...given, plan, spread: this.#spread }
    return connection.request(
      'query',
      fields,
      { ...this.#sections, ...Object.fromEntries(rows) },
      bounds,
      true,
    )
  }

  /** Of each column of a table the relation that it comes from. */
  sourcesOf({ like }: Gathered, columns: readonly ColumnDefinition[]): readonly (string | null)[] {
    const named = like && this.#columnsOf(like)
    return columns.map((_, i) => named?.[i]?.relation ?? null)
  }

  #columnsOf(query: unknown): readonly NamedColumn[] {
    const columnsOf = (name: string) => {
      const { columns } = this.#tables.get(name) ?? this.#relations.get(name) ?? {}
      if (columns !== undefined) return columns
      throw new WarpdexError('UNKNOWN_RELATION', `there is no relation ${JSON.stringify(name)}`)
    }
    const lists = Array.from({ length: this.#fields.lists ?? 0 }, (_, i): ConstantList => {
      const [values, texts, offsets] = ['values', 'texts', 'offsets'].map(
        (part) => this.#sections[`${i}.${part}`],
      )
      return { values, texts, offsets }
    })
    return checkQuery(query, columnsOf, lists).columns
  }
}

/** The rows of a query that are on one replica set after the other. */
class Result {
  readonly #query: AskedQuery
  readonly #part: QueryPart
  /** Those that are to be asked still, the first one with a result that is being read if there is a cursor. */
  readonly #connections: Connection[]
  #cursor: number | undefined
  /** Batches are read one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(connections: readonly Connection[], query: AskedQuery, part: QueryPart) {
    this.#connections = [...connections]
    this.#query = query
    this.#part = part
  }

  /** A batch, which is empty only if it is the last one. */
  next(bounds: Bounds): Promise<{ readonly reply: Reply<'query'>; readonly more: boolean }> {
    const next = this.#last.then(() => this.#next(bounds))
    this.#last = next.catch(() => {})
    return next
  }

  async end(bounds: Bounds): Promise<Reply<'queryEnd'>> {
    const [connection] = this.#connections.splice(0)
    const cursor = this.#cursor
    this.#cursor = undefined
    if (connection === undefined || cursor === undefined) return NOTHING
    return connection.request('queryEnd', { cursor }, {}, bounds, true)
  }

  async #next(bounds: Bounds): Promise<{ readonly reply: Reply<'query'>; readonly more: boolean }> {
    for (;;) {
      const [connection] = this.#connections
      if (connection === undefined) throw badRequest('the result has been read to its end')
      const reply = await this.#read(connection, bounds)
      if (this.#cursor === undefined) this.#connections.shift()
      const more = this.#connections.length > 0
      if (!more || (reply.fields.batch?.rows ?? 0) > 0) return { reply, more }
    }
  }

  async #read(connection: Connection, bounds: Bounds): Promise<Reply<'query'>> {
    const cursor = this.#cursor
    if (cursor === undefined) {
      const reply = await this.#query.ask(connection, this.#part, bounds)
      this.#cursor = reply.fields.cursor
      return reply
    }
    const reply = await connection.request('queryNext', { cursor }, {}, bounds, true)
    if (!reply.fields.more) this.#cursor = undefined
    return { ...reply, fields: { batch: reply.fields.batch } }
  }
}

const NOTHING: Reply<'queryEnd'> = {
  id: null,
  error: undefined,
  fields: {},
  sections: new Map(),
  columns: {},
}

/** A request to append the rows of a result to a table. */
function appendFrameOf(relation: string, { rows, columns }: ResultBatch): Uint8Array {
  const encoder = new TextEncoder()
  const values = columns.map(({ name, values, validity, texts }): [string, ColumnValues] => {
    const { bytes, offsets = NO_VALUES.offsets } = columnOf((texts ?? []).map((text) => encoder.encode(text)))
    return [name, { values, validity, ...(texts && { strings: { bytes, offsets } }) }]
  })
  const batch = { rows, columns: new Map(values) }
  const fields = { id: 0, op: 'append', relation, rows, columns: [...batch.columns.keys()] }
  return encodeFrame(fields, sectionsOfBatch(batch, columns))
}

function tooMuch({ node }: Gathered): WarpdexError {
  const names = [...relationsIn(node)].map((name) => JSON.stringify(name)).join(', ')
  return new WarpdexError(
    'TOO_LARGE',
    `the query needs more rows of ${names} in one place than the ${LIMITS.batchItems}, or ${LIMITS.frameBytes / 2} bytes, that go there; make the smaller relation of a join one of copies, or choose or group rows before`,
  )
}

function notOpen(cursor: number): WarpdexError {
  return badRequest(`no result ${cursor} is open; it was read to its end, ended, or never begun`)
}
