import { badRequest, toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { layoutWords } from '../../protocol/layout-options.js'
import type { RelationDefinition } from '../../protocol/relation.js'
import type { IndexDefinition } from '../../protocol/types.js'

/** @param isRelation whether a relation has the name, or the result of a query that is kept */
export function unknownIndex(name: string, isRelation = false): WarpdexError {
  const right = isRelation
    ? ', but a relation; the commands relations and drop --relation are for those'
    : '; list those that there are, or create it'
  return new WarpdexError('UNKNOWN_INDEX', `there is no index ${JSON.stringify(name)}${right}`)
}

/** For a request by a handle that no index has. */
export function unknownHandle(handle: number): WarpdexError {
  const message = `there is no index with handle ${handle}, or no more; open the index by its name`
  return new WarpdexError('UNKNOWN_INDEX', message)
}

/** For a request that means what the handle stood for before. */
export function indexChanged(name: string, generation: number): WarpdexError {
  return new WarpdexError(
    'INDEX_CHANGED',
    `generation ${generation} of the handle is out of date: the handle stands for index ${JSON.stringify(name)} now; open the index by its name`,
  )
}

export function indexExists(definition: IndexDefinition): WarpdexError {
  const { name, keyType, payloadKind, unique } = definition
  const more = [unique ? 'unique' : 'not unique', ...layoutWords(definition)].join(', ')
  return new WarpdexError(
    'INDEX_EXISTS',
    `there is an index ${JSON.stringify(name)} already, of ${keyType} keys and ${payloadKind} payloads, ${more}; drop it first or choose another name`,
  )
}

/** @param kept what became of the kept result of a query that had the name, if one had */
export function unknownRelation(name: string, kept?: string): WarpdexError {
  const right =
    kept === undefined
      ? '; list those that there are, or create it'
      : `: it was a kept result, which ${kept}; ask the query again`
  return new WarpdexError('UNKNOWN_RELATION', `there is no relation ${JSON.stringify(name)}${right}`)
}

/** For what a kept result cannot do. */
export function onlyKept(name: string): WarpdexError {
  return new WarpdexError(
    'BAD_REQUEST',
    `${JSON.stringify(name)} is the kept result of a query, which takes no appends, indexes or snapshots; create a relation for these`,
  )
}

/** For a relation that would have the name of a kept result. */
export function keptExists(name: string): WarpdexError {
  return new WarpdexError(
    'RELATION_EXISTS',
    `the result of a query is kept as ${JSON.stringify(name)}; drop it first or choose another name`,
  )
}

export function relationExists({ name, columns }: RelationDefinition): WarpdexError {
  const list = columns.map((column) => `${column.name}:${column.type}${column.nullable ? '?' : ''}`).join(',')
  return new WarpdexError(
    'RELATION_EXISTS',
    `there is a relation ${JSON.stringify(name)} already, of columns ${list}; drop it first or choose another name`,
  )
}

export function rebuilding(kind: 'index' | 'relation', name: string): WarpdexError {
  const message = `${kind} ${JSON.stringify(name)} is being rebuilt after the loss of its device; try again`
  return new WarpdexError('DEVICE_LOST', message)
}

/** An error of the start, with advice where the index or relation is too large. */
export function notLoaded(kind: 'index' | 'relation', name: string, thrown: unknown): unknown {
  const { code, message } = toWarpdexError(thrown)
  if (code !== 'OUT_OF_DEVICE_MEMORY') return thrown
  return new WarpdexError(
    code,
    `${kind} ${JSON.stringify(name)} does not fit: ${message}; allow it more (--device-memory), or take a larger device`,
    { cause: thrown },
  )
}

/** For what an index over columns of a relation does not do. */
export function madeFrom({ name, of }: IndexDefinition, what: string): WarpdexError {
  return badRequest(`index ${JSON.stringify(name)} ${what} relation ${JSON.stringify(of?.relation)}`)
}
