import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import { encodeFrame, type Sections } from '../../../protocol/frame.js'
import type { ControlOp } from '../../../protocol/messages.js'
import type { RelationInfo } from '../../../protocol/relation.js'
import type { Spread } from '../../../protocol/spread.js'
import type { AtomicResult, EncodedPart } from '../atomic-write.js'
import { type Bounds, UNBOUNDED } from '../call-options.js'
import type { Connection, RowPlace } from '../connection.js'
import { RememberedAnswer } from '../remembered-answer.js'
import type { Reply } from '../reply.js'
import { ClusterQueries } from './cluster-queries.js'
import { writeJointly } from './joint-write.js'

/** What tells that a relation is another one than is known. */
export const CHANGED_RELATION: readonly string[] = ['INDEX_CHANGED', 'UNKNOWN_RELATION']
/** What depends on how a relation is spread. */
export const BY_RELATIONS: ReadonlySet<ControlOp> = new Set([
  'append',
  'changeRows',
  'readRelation',
  'createRelationIndex',
  'query',
  'queryNext',
  'queryEnd',
])
/** Row numbers of a replica set. */
const SET_ROWS = 2 ** 32

type Relations = ReadonlyMap<string, RelationInfo>

/** A request for a relation, or a query. */
interface Asked {
  readonly op: ControlOp
  readonly fields: Readonly<Record<string, unknown>>
  readonly sections: Sections
  readonly bounds: Bounds
}

/** The relations of a cluster: on replica set 0, or spread over all. What they are is asked there once. */
export class ClusterRelations {
  readonly #connections: readonly Connection[]
  readonly #queries: ClusterQueries
  readonly #known: RememberedAnswer<Relations>

  /** @param connections one to each replica set */
  constructor(connections: readonly Connection[]) {
    this.#connections = connections
    this.#queries = new ClusterQueries(connections)
    this.#known = new RememberedAnswer<Relations>(async () => {
      const { fields } = await this.#home.request('listRelations', {}, {}, UNBOUNDED, true)
      return new Map(fields.relations.map((relation) => [relation.name, relation]))
    })
  }

  get #home(): Connection {
    return this.#connections[0]!
  }

  /** Relations are others, or may be. */
  forget(): void {
    this.#known.forget()
  }

  /** Where rows for a relation go that are written by an id: always there, should they be sent again. */
  async placeRows(relation: string, writeId: number, bounds: Bounds): Promise<RowPlace> {
    const spread = (await this.#known.get(bounds)).get(relation)?.spread
    if (spread === 'copies') return { spread, connections: this.#connections }
    const set = spread === 'rows' ? writeId % this.#connections.length : 0
    return { spread, connections: [this.#connections[set]!] }
  }

  /** What became of a part of a batch: rows on one replica set have numbers of that one. */
  numbered(result: AtomicResult, { pieces }: EncodedPart): AtomicResult {
    const [piece, ...others] = pieces
    if (result instanceof Uint8Array || piece === undefined || others.length > 0) return result
    const set = this.#connections.indexOf(piece.connection)
    return { ...result, first: result.first + set * SET_ROWS }
  }

  /** Carries out a request, and once more where it was for what relations were before. */
  async request(op: ControlOp, fields: object, sections: Sections, bounds: Bounds): Promise<Reply> {
    const asked: Asked = { op, fields: fields as Asked['fields'], sections, bounds }
    try {
      return await this.#begin(asked)
    } catch (error) {
      if (!(error instanceof WarpdexError) || !CHANGED_RELATION.includes(error.code)) throw error
      this.forget()
      return this.#begin(asked)
    }
  }

  /** At once where relations are known, so that requests leave in the order of their calls. */
  #begin(asked: Asked): Promise<Reply> {
    const { known } = this.#known
    if (known !== undefined) return this.#carryOut(asked, known)
    return this.#known.get(asked.bounds).then((relations) => this.#carryOut(asked, relations))
  }

  #carryOut({ op, fields, sections, bounds }: Asked, relations: Relations): Promise<Reply> {
    const spread = relations.get(String(fields.relation))?.spread
    const asked = { op, fields: { ...fields, spread }, sections, bounds }
    switch (op) {
      case 'query':
        return this.#queries.start(relations, fields, sections, bounds)
      case 'queryNext':
        return this.#queries.next(Number(fields.cursor), bounds)
      case 'queryEnd':
        return this.#queries.end(Number(fields.cursor), bounds)
      case 'append':
        return spread === undefined ? this.#send(0, asked) : this.#append(asked, spread)
      case 'readRelation':
        return spread === 'rows' ? this.#read(asked) : this.#send(0, asked)
      case 'changeRows':
        return spread === undefined ? this.#send(0, asked) : this.#change(asked, spread)
      default:
        return spread === undefined ? this.#send(0, asked) : this.#createIndex(asked)
    }
  }

  #send<O extends ControlOp>(
    set: number,
    { op, fields, sections, bounds }: Asked & { readonly op: O },
  ): Promise<Reply<O>> {
    return this.#connections[set]!.request<O>(op, fields, sections, bounds, true)
  }

  async #append(asked: Asked, spread: Spread): Promise<Reply> {
    const { fields, sections, bounds } = asked
    const { writeId = this.#home.newWriteId(), ...others } = fields
    const set = Number(writeId) % this.#connections.length
    if (spread === 'rows') {
      const reply = await this.#send(set, { ...asked, op: 'append', fields: { ...fields, writeId } })
      return { ...reply, fields: { ...reply.fields, first: reply.fields.first + set * SET_ROWS } }
    }
    const frames = [encodeFrame({ id: 0, op: 'append', ...others }, sections)]
    const pieces = this.#connections.map((connection) => ({ connection, frames }))
    const part = { part: { index: undefined, items: 0 }, pieces }
    const [appended] = await writeJointly([part], this.#connections, Number(writeId), bounds)
    return { id: null, error: undefined, fields: { ...appended }, sections: new Map(), columns: {} }
  }

  /** On all replica sets, on each of them as a step. */
  async #change(asked: Asked, spread: Spread): Promise<Reply> {
    const replies = await Promise.all(
      this.#connections.map((_, set) => this.#send(set, { ...asked, op: 'changeRows' })),
    )
    const [first] = replies as [Reply<'changeRows'>]
    if (spread === 'copies') return first
    const changed = replies.reduce((sum, { fields }) => sum + fields.changed, 0)
    return { ...first, fields: { changed } }
  }

  /** Replica set 0 has it last, so that it can be created again should that end halfway. */
  async #createIndex(asked: Asked): Promise<Reply> {
    const others = this.#connections.slice(1).map((_, i) => {
      return this.#send(i + 1, { ...asked, fields: { ...asked.fields, ifNotExists: true } })
    })
    await Promise.all(others)
    return this.#send(0, asked)
  }

  /** Rows of the replica set to which the first number belongs, or of the next one that has any. The reply's numbering is of that replica set. */
  async #read(asked: Asked): Promise<Reply> {
    const { from = 0, numbering } = asked.fields as { from?: number; numbering?: number }
    const sets = this.#connections.length
    for (let set = Math.floor(from / SET_ROWS), own = from % SET_ROWS; ; set++, own = 0) {
      if (set >= sets) throw badRequest(`the relation has no row ${from}: its replica sets are ${sets}`)
      const known =
        numbering !== undefined && numbering % sets === set ? Math.floor(numbering / sets) : undefined
      const fields = { ...asked.fields, from: own, numbering: known }
      const reply = await this.#send(set, { ...asked, op: 'readRelation', fields })
      const { rows, total, next = own + rows } = reply.fields
      const isLast = set === sets - 1
      if (rows === 0 && !isLast && asked.fields.limit !== 0) continue
      const hasMore = next < total
      const shown = {
        total: isLast ? set * SET_ROWS + total : sets * SET_ROWS,
        numbering: reply.fields.numbering * sets + set,
        next: hasMore || isLast ? set * SET_ROWS + next : (set + 1) * SET_ROWS,
      }
      return { ...reply, fields: { ...reply.fields, ...shown } }
    }
  }
}
