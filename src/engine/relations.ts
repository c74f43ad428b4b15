import type { DeviceRelation } from '../../gpu/relational/device-relation.js'
import type { StoredRelation } from '../../persistence/dictionary.js'
import type { RelationDefinition, RelationInfo } from '../../protocol/relation.js'
import { notLoaded, relationExists, unknownRelation } from './index-errors.js'
import type { Reader } from './index-requests.js'
import { Relation, type RelationFacts, type RelationHost } from './named-relation.js'
import { PagedStructure } from './paged-structure.js'
import { Registry } from './registry.js'

/** All relations of an engine. */
export class Relations {
  readonly #host: RelationHost
  readonly #registry = new Registry<Relation>()

  constructor(host: RelationHost) {
    this.#host = host
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
    const existing = this.#registry.get(definition.name)
    if (existing === undefined) {
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
  async drop(name: string, options: { ifExists?: boolean }): Promise<boolean> {
    const relation = this.#registry.get(name)
    if (relation === undefined) {
      if (options.ifExists === true) return false
      throw unknownRelation(name)
    }
    await this.#registry.drop(relation)
    return true
  }

  list(): readonly RelationInfo[] {
    return this.existing().map((relation) => relation.info())
  }

  /** Those that are there, as opposed to being created. */
  existing(): readonly Relation[] {
    return this.all().filter(({ exists }) => exists)
  }

  all(): readonly Relation[] {
    return this.#registry.all()
  }

  /** All drops that are under way. */
  drops(): readonly Promise<void>[] {
    return this.#registry.drops()
  }

  /** @throws WarpdexError `UNKNOWN_RELATION` */
  get(name: string): Relation {
    const relation = this.#registry.get(name)
    if (relation === undefined) throw unknownRelation(name)
    return relation
  }

  stats(): readonly RelationFacts[] {
    return this.all()
      .filter(({ isLoaded }) => isLoaded)
      .map((relation) => relation.stats())
  }

  /** As `Engine.useRelations`. */
  async use<T>(
    names: readonly string[],
    run: (relations: ReadonlyMap<string, DeviceRelation>) => Promise<T>,
    reader: Reader | undefined,
  ): Promise<T> {
    const relations = [...new Set(names)].map((name) => this.get(name))
    // All queues are entered in one step, so that tasks on the same relations never wait for each other crosswise.
    const holds = await Promise.allSettled(relations.map((relation) => relation.hold(reader)))
    const held = holds.flatMap((hold) => (hold.status === 'fulfilled' ? [hold.value] : []))
    try {
      const failed = holds.find((hold) => hold.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      const structures = held.map(({ structure }) => structure)
      return await PagedStructure.useAll(structures, () => {
        const used = structures.map(({ current }, i) => {
          const { definition, indexes } = relations[i]
          const over = indexes.map(({ ofColumns }) => ofColumns)
          return [definition.name, { ...current.relation, indexes: over }] as const
        })
        return run(new Map(used))
      })
    } finally {
      for (const { release } of held) release()
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
