import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { StoredRelation } from '../../persistence/disk/dictionary.js'
import { WarpdexError } from '../../protocol/errors.js'
import type { RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import { keptExists, notLoaded, onlyKept, relationExists } from './index-errors.js'
import type { Reader } from './index-requests.js'
import type { KeptResult } from './kept-result.js'
import { type KeptHost, KeptResults } from './kept-results.js'
import { Relation, type RelationFacts, type RelationHost } from './named-relation.js'
import { PagedStructure } from './paged-structure.js'
import { Registry } from './registry.js'

export interface DropRelationOptions {
  readonly ifExists?: boolean
  /** Asked about each index over its columns, by name, before anything is dropped; throws for whoever may not drop that. */
  readonly authorise?: (index: string) => void
}

/** All relations of an engine, and the kept results of queries, which share their names. */
export class Relations {
  readonly kept: KeptResults
  readonly #host: RelationHost
  readonly #registry = new Registry<Relation>()

  constructor(host: RelationHost & KeptHost) {
    this.#host = host
    this.kept = new KeptResults(host, (name) => this.#refuseStored(name))
  }

  /** Brings a stored relation to the device. */
  async open(stored: StoredRelation): Promise<void> {
    const { definition } = stored
    try {
      await this.#registry.add(new Relation(definition, this.#host)).open(stored)
    } catch (thrown) {
      throw notLoaded('relation', definition.name, thrown)
    }
  }

  /** As `Engine.createRelation`. */
  async create(definition: RelationDefinition, options: { ifNotExists?: boolean }): Promise<boolean> {
    const { name } = definition
    if (this.kept.get(name) !== undefined) throw keptExists(name)
    const existing = this.#registry.get(name)
    if (existing === undefined) {
      this.kept.forget(name)
      await this.#registry.create(new Relation(definition, this.#host))
      return true
    }
    if (options.ifNotExists !== true || !sameColumns(existing.definition, definition)) {
      throw relationExists(existing.definition)
    }
    await existing.ready()
    return false
  }

  /** As `Engine.dropRelation`. */
  async drop(name: string, options: DropRelationOptions): Promise<boolean> {
    const relation = this.#registry.get(name)
    const kept = this.kept.get(name)
    if (relation !== undefined) {
      for (const { definition } of relation.dependents) options.authorise?.(definition.name)
      await this.#registry.drop(relation)
    } else if (kept !== undefined) await this.kept.drop(kept)
    else if (options.ifExists === true) return false
    else throw this.kept.unknown(name)
    return true
  }

  list(): readonly RelationInfo[] {
    return [...this.existing(), ...this.kept.all()].map((relation) => relation.info())
  }

  /** Those that are stored and there, as opposed to being created. */
  existing(): readonly Relation[] {
    return this.all().filter(({ exists }) => exists)
  }

  /** All that are stored. */
  all(): readonly Relation[] {
    return this.#registry.all()
  }

  /** All drops that are under way. */
  drops(): readonly Promise<void>[] {
    return this.#registry.drops()
  }

  /** @throws WarpdexError `UNKNOWN_RELATION`, and `BAD_REQUEST` for a kept result */
  get(name: string): Relation {
    const relation = this.readable(name)
    if (relation instanceof Relation) return relation
    throw onlyKept(name)
  }

  /** Whether a relation or a kept result has the name. */
  has(name: string): boolean {
    return (this.#registry.get(name) ?? this.kept.get(name)) !== undefined
  }

  /** @throws WarpdexError `UNKNOWN_RELATION` */
  readable(name: string): Relation | KeptResult {
    const relation = this.#registry.get(name) ?? this.kept.get(name)
    if (relation === undefined) throw this.kept.unknown(name)
    return relation
  }

  stats(): readonly RelationFacts[] {
    const loaded = this.all().filter(({ isLoaded }) => isLoaded)
    return [...loaded, ...this.kept.all()].map((relation) => relation.stats())
  }

  /** As `Engine.useRelations`. */
  async use<T>(
    names: readonly string[],
    run: (relations: ReadonlyMap<string, DeviceRelation>) => Promise<T>,
    reader: Reader | undefined,
  ): Promise<T> {
    const relations = [...new Set(names)].map((name) => this.readable(name))
    // All queues are entered in one step, so that tasks on the same relations never wait for each other crosswise.
    const holds = await Promise.allSettled(relations.map((relation) => relation.hold(reader)))
    const held = holds.flatMap((hold) => (hold.status === 'fulfilled' ? [hold.value] : []))
    try {
      const failed = holds.find((hold) => hold.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      const structures = held.map(({ structure }) => structure)
      return await PagedStructure.useAll(structures, () => {
        const used = structures.map(({ current }, i) => {
          const relation = relations[i]
          const indexes = relation instanceof Relation ? relation.indexes : []
          const over = indexes.map(({ ofColumns }) => ofColumns)
          return [relation.definition.name, { ...current.relation, indexes: over }] as const
        })
        return run(new Map(used))
      })
    } finally {
      for (const { release } of held) release()
    }
  }

  /** Refuses the name of a stored relation for a result. */
  #refuseStored(name: string): void {
    const relation = this.#registry.get(name)
    if (relation !== undefined) throw relationExists(relation.definition)
    if (this.#registry.dropOf(name) !== undefined) {
      const message = `the relation ${JSON.stringify(name)} is being dropped; try again, or choose another name`
      throw new WarpdexError('RELATION_EXISTS', message)
    }
  }
}

function sameColumns({ columns }: RelationDefinition, { columns: others }: RelationDefinition): boolean {
  return (
    columns.length === others.length &&
    columns.every(({ name, type, nullable }, i) => {
      const other = others[i]
      return name === other.name && type === other.type && nullable === other.nullable
    })
  )
}
